package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// memorySource is a [Source] with files in memory, which can be rolled.
type memorySource struct {
	files     map[string][]byte
	clock     time.Time
	at        map[string]time.Time
	afterList func() // called after each listing of the files
	failure   error  // error of the next call of List
}

func newMemorySource() *memorySource {
	return &memorySource{files: map[string][]byte{}, at: map[string]time.Time{}, clock: time.Unix(1700000000, 0)}
}

func (m *memorySource) write(name, text string) {
	m.files[name] = append(slices.Clone(m.files[name]), text...)
	m.clock = m.clock.Add(time.Second)
	m.at[name] = m.clock
}

// roll renames name.1 to name.2, and so on up to number most, and then name to name.1.
func (m *memorySource) roll(name string, most int) {
	for n := most; n > 0; n-- {
		from := name
		if n > 1 {
			from = fmt.Sprintf("%s.%d", name, n-1)
		}
		if content, ok := m.files[from]; ok {
			to := fmt.Sprintf("%s.%d", name, n)
			m.files[to], m.at[to] = content, m.at[from]
			delete(m.files, from)
		}
	}
}

func (m *memorySource) List(context.Context) ([]FileInfo, error) {
	if m.failure != nil {
		err := m.failure
		m.failure = nil
		return nil, err
	}
	var files []FileInfo
	for name, content := range m.files {
		files = append(files, FileInfo{name, int64(len(content)), m.at[name]})
	}
	if m.afterList != nil {
		m.afterList()
	}
	return files, nil
}

func (m *memorySource) Open(_ context.Context, name string, _, from int64) (io.ReadCloser, error) {
	content, ok := m.files[name]
	if !ok {
		return nil, errors.New("no such file")
	}
	if from > int64(len(content)) {
		return nil, ErrChanged
	}
	return io.NopCloser(bytes.NewReader(content[from:])), nil
}

// newCollectingTail returns a Tail, and the list of the lines that the Tail has passed on.
func newCollectingTail() (tail *Tail, lines *[]string) {
	lines = &[]string{}
	return NewTail(func(_ string, text []byte) error {
		*lines = append(*lines, string(text))
		return nil
	}, func(name string) bool { return name == "hidden" }), lines
}

func TestTailPassesOnCompleteLines(t *testing.T) {
	source := newMemorySource()
	tail, lines := newCollectingTail()
	source.write("stdout", "one\ntw")
	source.write("hidden", "not this\n")
	require.NoError(t, tail.Read(t.Context(), source))
	require.Equal(t, []string{"one"}, *lines)
	require.NoError(t, tail.Read(t.Context(), source))
	source.write("stdout", "o\r\n\nthree")
	require.NoError(t, tail.Read(t.Context(), source))
	require.Equal(t, []string{"one", "two", ""}, *lines)
	require.NoError(t, tail.Close())
	require.Equal(t, []string{"one", "two", "", "three"}, *lines)
}

func TestTailPassesOnAnEndlessLineInPieces(t *testing.T) {
	source := newMemorySource()
	tail, lines := newCollectingTail()
	source.write("stdout", strings.Repeat("x", 3*maxLine))
	require.NoError(t, tail.Read(t.Context(), source))
	require.GreaterOrEqual(t, len(*lines), 2)
	require.NoError(t, tail.Close())
	require.Equal(t, strings.Repeat("x", 3*maxLine), strings.Join(*lines, ""))
}

func TestTailBeginsWithTheLastLines(t *testing.T) {
	for _, lines := range []int{1, 2, 5, 1000} {
		source := newMemorySource()
		tail, got := newCollectingTail()
		tail.LastLines = lines
		var all []string
		for i := range 300 {
			all = append(all, fmt.Sprintf("%d%s", i, strings.Repeat("-", 700)))
		}
		source.write("stdout", strings.Join(all, "\n")+"\n")
		require.NoError(t, tail.Read(t.Context(), source))
		require.Equal(t, all[max(0, len(all)-lines):], *got)
		source.write("stdout", "more\n")
		source.write("stderr", "all\nof it\n")
		require.NoError(t, tail.Read(t.Context(), source))
		require.Equal(t, append(slices.Clone(all[max(0, len(all)-lines):]), "more", "all", "of it"), *got)
	}
}

func TestTailNeitherLosesNorRepeatsLinesOfRolledFiles(t *testing.T) {
	t.Run("between two reads, with lines before and after", func(t *testing.T) {
		source := newMemorySource()
		tail, lines := newCollectingTail()
		source.write("stderr", "1\n2\n")
		require.NoError(t, tail.Read(t.Context(), source))
		source.write("stderr", "3\n")
		source.roll("stderr", 3)
		source.write("stderr", "4\n")
		require.NoError(t, tail.Read(t.Context(), source))
		require.Equal(t, []string{"1", "2", "3", "4"}, *lines)
	})
	t.Run("twice between two reads, to a longer file", func(t *testing.T) {
		source := newMemorySource()
		tail, lines := newCollectingTail()
		source.write("stderr", "1\n")
		require.NoError(t, tail.Read(t.Context(), source))
		source.write("stderr", "2\n")
		source.roll("stderr", 3)
		source.write("stderr", "3\n4\n")
		source.roll("stderr", 3)
		source.write("stderr", "5\n6\n7\n")
		require.NoError(t, tail.Read(t.Context(), source))
		require.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7"}, *lines)
	})
	t.Run("by a copy that is then emptied", func(t *testing.T) {
		source := newMemorySource()
		tail, lines := newCollectingTail()
		source.write("stderr", "1\n2\n")
		require.NoError(t, tail.Read(t.Context(), source))
		source.write("stderr.1", "1\n2\n")
		require.NoError(t, tail.Read(t.Context(), source))
		source.files["stderr"] = nil
		source.write("stderr", "3\n")
		require.NoError(t, tail.Read(t.Context(), source))
		require.Equal(t, []string{"1", "2", "3"}, *lines)
	})
	t.Run("away, and a shorter one is in its place", func(t *testing.T) {
		source := newMemorySource()
		tail, lines := newCollectingTail()
		source.write("stderr", "1\n2\n3")
		require.NoError(t, tail.Read(t.Context(), source))
		source.files["stderr"] = nil
		source.write("stderr", "4\n")
		require.NoError(t, tail.Read(t.Context(), source))
		require.Equal(t, []string{"1", "2", "3", "4"}, *lines)
	})
	t.Run("while it is read", func(t *testing.T) {
		source := newMemorySource()
		tail, lines := newCollectingTail()
		source.write("stderr", "1\n")
		require.NoError(t, tail.Read(t.Context(), source))
		source.write("stderr", "2\n")
		source.afterList = func() {
			source.afterList = nil
			source.roll("stderr", 3)
			source.write("stderr", "3\n")
		}
		require.NoError(t, tail.Read(t.Context(), source))
		require.Equal(t, []string{"1", "2", "3"}, *lines)
	})
}

// TestTailPassesOnAllLines writes, rolls and reads a file in a random order.
func TestTailPassesOnAllLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := newMemorySource()
		tail, lines := newCollectingTail()
		want := []string{}
		part, written := "", 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1: // whole lines, each different
				for range rapid.IntRange(1, 4).Draw(t, "lines") {
					line := fmt.Sprintf("line %d", written)
					written++
					source.write("out", line+"\n")
					want = append(want, part+line)
					part = ""
				}
			case 2: // an incomplete line
				text := fmt.Sprintf("[%d", written)
				written++
				source.write("out", text)
				part += text
			case 3: // programs roll a file only after a whole line
				if part == "" && len(source.files["out"]) > 0 {
					source.roll("out", 50)
				}
			case 4:
				if rapid.Bool().Draw(t, "away") {
					source.failure = errors.New("away")
				}
				_ = tail.Read(context.Background(), source)
			}
		}
		if part != "" {
			want = append(want, part)
		}
		source.failure = nil
		require.NoError(t, tail.Read(context.Background(), source))
		require.NoError(t, tail.Close())
		require.Equal(t, want, *lines)
	})
}

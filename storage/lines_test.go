package storage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// textOf draws a text with every kind of line end, empty lines, and some lines longer
// than any buffer.
func textOf(t *rapid.T) []byte {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"\n", "\r\n", "\r", "\n\n", "a", "word", "é", "\x00"}),
		rapid.StringOfN(rapid.RuneFrom([]rune("ab \n")), 0, 40, -1),
		rapid.Map(rapid.IntRange(0, 3000), func(n int) string { return strings.Repeat("x", n) }),
	)
	return []byte(strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "text"), ""))
}

// scanned returns the lines that bufio.ScanLines finds in text.
func scanned(text []byte) []string {
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Buffer(nil, len(text)+1)
	lines := []string{}
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	return lines
}

func linesOf(ctx context.Context, splits []Split) ([]string, error) {
	lines := []string{}
	for _, s := range splits {
		for line, err := range s.Lines(ctx) {
			if err != nil {
				return lines, err
			}
			lines = append(lines, string(line))
		}
	}
	return lines, nil
}

func TestSplitsGiveEachLineOnce(t *testing.T) {
	dir := t.TempDir()
	files := New(Options{})
	defer func() { require.NoError(t, files.Close()) }()
	ctx := With(t.Context(), files)
	rapid.Check(t, func(t *rapid.T) {
		text := textOf(t)
		path := filepath.Join(dir, "text")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		// Splits of single bytes if the text is short, but not thousands of splits if it is
		// long.
		size := rapid.Int64Range(1+int64(len(text))/300, int64(len(text))+10).Draw(t, "split size")
		splits, err := files.Splits(ctx, path, SplitOptions{Size: size})
		require.NoError(t, err)
		lines, err := linesOf(ctx, splits)
		require.NoError(t, err)
		require.Equal(t, scanned(text), lines)

		var whole []byte
		for _, s := range splits {
			r, err := s.Open(ctx)
			require.NoError(t, err)
			part, err := io.ReadAll(iotest.OneByteReader(r))
			require.NoError(t, err)
			require.NoError(t, r.Close())
			whole = append(whole, part...)
		}
		require.Equal(t, string(text), string(whole))
	})
}

func TestCompressedFilesGiveTheSameLines(t *testing.T) {
	dir := t.TempDir()
	files := New(Options{})
	defer func() { require.NoError(t, files.Close()) }()
	ctx := With(t.Context(), files)
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		text := textOf(t)
		cut := rapid.IntRange(0, len(text)).Draw(t, "where the second member begins")
		var zipped bytes.Buffer
		for _, member := range [][]byte{text[:cut], text[cut:]} {
			w := gzip.NewWriter(&zipped)
			_, err := w.Write(member)
			require.NoError(t, err)
			require.NoError(t, w.Close())
		}
		frames := encoder.EncodeAll(text[cut:], encoder.EncodeAll(text[:cut], nil))
		for name, content := range map[string][]byte{"text.gz": zipped.Bytes(), "text.zst": frames} {
			path := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(path, content, 0o600))
			splits, err := files.Splits(ctx, path, SplitOptions{Size: 7})
			require.NoError(t, err)
			require.LessOrEqual(t, len(splits), 1)
			lines, err := linesOf(ctx, splits)
			require.NoError(t, err)
			require.Equal(t, scanned(text), lines, name)
		}
	})
}

func TestLinesLongerThanTheBuffer(t *testing.T) {
	long := strings.Repeat("long", lineBuffer)
	text := "short\n" + long + "\r\n" + long + "\n\nend"
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	files := New(Options{})
	defer func() { require.NoError(t, files.Close()) }()
	ctx := With(t.Context(), files)
	splits, err := files.Splits(ctx, path, SplitOptions{Size: 100_000})
	require.NoError(t, err)
	require.Greater(t, len(splits), 10)
	lines, err := linesOf(ctx, splits)
	require.NoError(t, err)
	require.Equal(t, []string{"short", long, long, "", "end"}, lines)
}

func TestLinesStopWhenTheLoopBreaks(t *testing.T) {
	var got []string
	scanLines(strings.NewReader("a\nb\nc"), make([]byte, 16), math.MaxInt, nil, func(line []byte, err error) bool {
		require.NoError(t, err)
		got = append(got, string(line))
		return len(got) < 2
	})
	require.Equal(t, []string{"a", "b"}, got)
}

func TestScanLinesReportsErrors(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		reader io.Reader
		want   error
	}{
		"error":       {io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), broken},
		"no progress": {io.MultiReader(strings.NewReader("a\nb"), idleReader{}), io.ErrNoProgress},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			var last error
			scanLines(test.reader, make([]byte, 4), math.MaxInt, nil, func(line []byte, err error) bool {
				require.NoError(t, last, "an error ends the lines")
				if last = err; err == nil {
					got = append(got, string(line))
				}
				return true
			})
			require.Equal(t, []string{"a"}, got)
			require.ErrorIs(t, last, test.want)
		})
	}
}

type idleReader struct{}

func (idleReader) Read([]byte) (int, error) { return 0, nil }

func BenchmarkLines(b *testing.B) {
	const size = 64 << 20
	line := []byte("the quick brown fox jumps over the lazy dog, and then it jumps back again\n")
	path := filepath.Join(b.TempDir(), "text")
	require.NoError(b, os.WriteFile(path, bytes.Repeat(line, size/len(line)), 0o600))
	files := New(Options{})
	defer func() { require.NoError(b, files.Close()) }()
	ctx := With(b.Context(), files)
	splits, err := files.Splits(ctx, path, SplitOptions{})
	require.NoError(b, err)
	b.SetBytes(size / int64(len(line)) * int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, s := range splits {
			for line, err := range s.Lines(ctx) {
				if err != nil {
					b.Fatal(err)
				}
				n += len(line)
			}
		}
	}
}

func TestLongLinesAreRefused(t *testing.T) {
	errLong := errors.New("too long")
	for _, test := range []struct {
		text  string
		lines int
		err   error
	}{{"abcdefgh\nabc\nabcdefg\n", 3, nil}, {"abc\nabcdefghi\nabc\n", 3, nil}, {"abc\nabcdefghij\nabc\n", 1, errLong}, {"abcdefghijklmnopqrst", 0, errLong}} {
		lines := 0
		var failure error
		scanLines(strings.NewReader(test.text), make([]byte, 4), 10, errLong, func(_ []byte, err error) bool {
			if failure = err; err == nil {
				lines++
			}
			return true
		})
		require.Equal(t, test.lines, lines)
		require.Equal(t, test.err, failure)
	}
}

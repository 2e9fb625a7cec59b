package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// shelf has the contents that the cache fetches in a test.
type shelf struct {
	mu       sync.Mutex
	contents map[string][]byte
	fetches  int
	gate     chan struct{} // fetches wait until the channel is closed; nil means that they do not wait
}

func (s *shelf) put(name string, content []byte) *protocol.File {
	sum := sha256.Sum256(content)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.contents == nil {
		s.contents = map[string][]byte{}
	}
	s.contents[string(sum[:])] = content
	return &protocol.File{Name: name, Sha256: sum[:], Size: int64(len(content))}
}

func (s *shelf) fetch(ctx context.Context, hash []byte, to rewriter) error {
	s.mu.Lock()
	content, ok := s.contents[string(hash)]
	s.fetches++
	s.mu.Unlock()
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if !ok {
		return errors.New("nobody has it")
	}
	// The bytes of a failed first attempt must be discarded.
	if _, err := to.Write([]byte("garbage")); err != nil {
		return err
	}
	if err := to.restart(); err != nil {
		return err
	}
	_, err := to.Write(content)
	return err
}

func newTestCache(t *testing.T, s *shelf) *cache {
	c, err := newCache(filepath.Join(t.TempDir(), "cache"), s.fetch)
	require.NoError(t, err)
	return c
}

func TestFilesAreLinked(t *testing.T) {
	s := &shelf{}
	c := newTestCache(t, s)
	plain, program := s.put("a/table.txt", []byte("content")), s.put("program", []byte("content"))
	program.Executable = true
	for range 2 {
		work := t.TempDir()
		release, err := c.linkFiles(t.Context(), []*protocol.File{plain, program}, work)
		require.NoError(t, err)
		for name, mode := range map[string]os.FileMode{"a/table.txt": 0o444, "program": 0o555} {
			content, err := os.ReadFile(filepath.Join(work, name))
			require.NoError(t, err)
			require.Equal(t, "content", string(content))
			info, err := os.Stat(filepath.Join(work, name))
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode().Perm(), "nobody changes what others have too")
		}
		release()
	}
	require.Equal(t, 2, s.fetches, "one for each mode")
	require.Empty(t, c.used)
}

func TestAnIncompleteContentIsFetchedAgain(t *testing.T) {
	s := &shelf{}
	c := newTestCache(t, s)
	file := s.put("file", []byte("content"))
	path := filepath.Join(c.directory, entryOf(file))
	require.NoError(t, os.WriteFile(path, []byte("cont"), 0o600))
	work := t.TempDir()
	_, err := c.linkFiles(t.Context(), []*protocol.File{file}, work)
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(work, "file"))
	require.NoError(t, err)
	require.Equal(t, "content", string(content))
}

func TestAFailedFetchLeavesNothing(t *testing.T) {
	s := &shelf{}
	c := newTestCache(t, s)
	lacking := &protocol.File{Name: "file", Sha256: make([]byte, 32)}
	_, err := c.linkFiles(t.Context(), []*protocol.File{s.put("there", []byte("content")), lacking}, t.TempDir())
	require.EqualError(t, err, "file file: nobody has it")
	_, err = c.linkFiles(t.Context(), []*protocol.File{{Name: "file", Sha256: []byte("short")}}, t.TempDir())
	require.EqualError(t, err, "file file: its SHA-256 has 5 bytes, want 32")
	require.Empty(t, c.used)
	entries, err := os.ReadDir(c.directory)
	require.NoError(t, err)
	require.Len(t, entries, 1, "of the one that is there")
}

func TestAWaitingCallerRetriesACancelledFetch(t *testing.T) {
	s := &shelf{gate: make(chan struct{})}
	c := newTestCache(t, s)
	file := s.put("file", []byte("content"))
	first, giveUp := context.WithCancel(t.Context())
	var placing sync.WaitGroup
	placing.Go(func() {
		_, err := c.linkFiles(first, []*protocol.File{file}, t.TempDir())
		require.ErrorIs(t, err, context.Canceled)
	})
	flying := func(n int) func() bool {
		return func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.flights) == 1 && c.used[entryOf(file)] == n
		}
	}
	require.Eventually(t, flying(1), timeout, time.Millisecond)
	placing.Go(func() {
		_, err := c.linkFiles(t.Context(), []*protocol.File{file}, t.TempDir())
		require.NoError(t, err)
	})
	require.Eventually(t, flying(2), timeout, time.Millisecond)
	giveUp()
	close(s.gate)
	placing.Wait()
}

func TestTheCacheIsCleaned(t *testing.T) {
	s := &shelf{}
	c := newTestCache(t, s)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	c.now = func() time.Time { return now }
	old, used, young := s.put("old", []byte("1")), s.put("used", []byte("2")), s.put("young", []byte("3"))
	release, err := c.linkFiles(t.Context(), []*protocol.File{old, used}, t.TempDir())
	require.NoError(t, err)
	release()
	for _, file := range []*protocol.File{old, used} { // the latest use of both is their download
		require.NoError(t, os.Chtimes(filepath.Join(c.directory, entryOf(file)), now, now))
	}
	now = now.Add(time.Hour)
	_, err = c.linkFiles(t.Context(), []*protocol.File{used}, t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Chtimes(filepath.Join(c.directory, entryOf(used)), time.Unix(0, 0), time.Unix(0, 0)))
	_, err = c.linkFiles(t.Context(), []*protocol.File{young}, t.TempDir())
	require.NoError(t, err)
	draft := filepath.Join(c.directory, ".draft-1")
	require.NoError(t, os.WriteFile(draft, nil, 0o600))
	require.NoError(t, os.Chtimes(draft, time.Unix(0, 0), time.Unix(0, 0)))

	c.flights["another"] = &flight{}
	removed, err := c.clean(now.Add(-time.Minute))
	require.NoError(t, err)
	require.Equal(t, 1, removed, "the draft may be of what is being fetched")
	require.FileExists(t, draft)
	delete(c.flights, "another")
	_, err = c.clean(now.Add(-time.Minute))
	require.NoError(t, err)
	require.NoFileExists(t, draft, "somebody left it")
	require.NoFileExists(t, filepath.Join(c.directory, entryOf(old)))
	require.FileExists(t, filepath.Join(c.directory, entryOf(used)), "it is in use")
	require.FileExists(t, filepath.Join(c.directory, entryOf(young)))
}

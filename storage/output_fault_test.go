package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var errCrash = errors.New("crashed")

// faultySystem simulates a process that dies or loses its connection: the n-th change fails,
// before or after it is made, and every later call fails.
type faultySystem struct {
	fileSystem
	callsLeft int // calls that still succeed
	after     bool

	mu   sync.Mutex // needed because commits make several calls at the same time
	dead bool
}

func (s *faultySystem) step(change func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return errCrash
	}
	if s.callsLeft--; s.callsLeft >= 0 {
		return change()
	}
	s.dead = true
	if s.after {
		_ = change()
	}
	return errCrash
}

func (s *faultySystem) isDead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

func (s *faultySystem) create(ctx context.Context, path string, settings createSettings) (sink, error) {
	var made sink
	err := s.step(func() (err error) {
		made, err = s.fileSystem.create(ctx, path, settings)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &faultySink{sink: made, system: s}, nil
}

func (s *faultySystem) stat(ctx context.Context, path string, withBlocks bool) (entry, error) {
	if s.isDead() {
		return entry{}, errCrash
	}
	return s.fileSystem.stat(ctx, path, withBlocks)
}

func (s *faultySystem) list(ctx context.Context, path string, withBlocks bool) ([]entry, error) {
	if s.isDead() {
		return nil, errCrash
	}
	return s.fileSystem.list(ctx, path, withBlocks)
}

func (s *faultySystem) mkdirAll(ctx context.Context, path string, perm fs.FileMode) error {
	return s.step(func() error { return s.fileSystem.mkdirAll(ctx, path, perm) })
}

func (s *faultySystem) rename(ctx context.Context, from, to string) error {
	return s.step(func() error { return s.fileSystem.rename(ctx, from, to) })
}

func (s *faultySystem) remove(ctx context.Context, path string, recursive bool) error {
	return s.step(func() error { return s.fileSystem.remove(ctx, path, recursive) })
}

type faultySink struct {
	sink
	system *faultySystem
}

func (s *faultySink) Write(p []byte) (n int, err error) {
	err = s.system.step(func() error { n, err = s.sink.Write(p); return err })
	return n, err
}

func (s *faultySink) Close() error { return s.system.step(s.sink.Close) }

func (s *faultySink) Abort() error { return s.system.step(s.sink.Abort) }

// runJob runs one attempt of a job. The task that writes the second part has two attempts.
func runJob(files *Files, target, content string, options ...OutputOption) error {
	ctx := With(context.Background(), files)
	out, err := files.NewOutput(ctx, target, "job", options...)
	if errors.Is(err, ErrCommitted) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, task := range []struct{ index, attempt int }{{0, 0}, {1, 0}, {1, 1}} {
		part, err := out.Part(ctx, task.index, task.attempt)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(part, "%s %d", content, task.index); err != nil {
			_ = part.Abort()
			return err
		}
		if err := part.Commit(); err != nil {
			return err
		}
	}
	return out.Commit(ctx, 2)
}

// committed returns the content that identifies the attempt which has committed the output, and
// checks that the output is complete. ok is false if there is no output.
func committed(t *testing.T, target string) (content string, ok bool) {
	t.Helper()
	_, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	require.NoError(t, err)
	first, err := os.ReadFile(filepath.Join(target, "part-00000"))
	require.NoError(t, err)
	second, err := os.ReadFile(filepath.Join(target, "part-00001"))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(target, successName))
	content, _, ok = cutLast(string(first))
	require.True(t, ok)
	require.Equal(t, content+" 0", string(first))
	require.Equal(t, content+" 1", string(second))
	return content, true
}

func cutLast(s string) (before, after string, ok bool) {
	if len(s) < 2 {
		return s, "", false
	}
	return s[:len(s)-2], s[len(s)-1:], true
}

func TestOutputSurvivesACrashAtEveryStep(t *testing.T) {
	for _, after := range []bool{false, true} {
		survived := false
		for steps := 0; !survived; steps++ {
			require.Less(t, steps, 200)
			t.Run(fmt.Sprintf("after=%v/%d", after, steps), func(t *testing.T) {
				parent := t.TempDir()
				target := filepath.Join(parent, "out")
				broken := New(Options{})
				broken.wrap = func(s fileSystem) fileSystem {
					return &faultySystem{fileSystem: s, callsLeft: steps, after: after}
				}
				err := runJob(broken, target, "first")
				system, ok := broken.systems[localRoot].(*faultySystem)
				require.True(t, ok)
				survived = !system.dead
				content, done := committed(t, target)
				if err == nil {
					require.True(t, done, "what is reported as committed is there")
				}
				if done {
					require.Equal(t, "first", content)
				}

				require.NoError(t, runJob(New(Options{}), target, "second"), "the second attempt")
				content, ok = committed(t, target)
				require.True(t, ok)
				if done {
					require.Equal(t, "first", content, "what was committed stays")
				} else {
					require.Equal(t, "second", content)
				}
				entries, err := os.ReadDir(parent)
				require.NoError(t, err)
				require.Len(t, entries, 1, "nothing temporary is left")
			})
		}
	}
}

// lossySystem simulates that the response of one rename is lost.
type lossySystem struct {
	fileSystem
	mu   sync.Mutex
	lost map[string]bool
}

func (s *lossySystem) rename(ctx context.Context, from, to string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fileSystem.rename(ctx, from, to); err != nil || s.lost[to] {
		return err
	}
	s.lost[to] = true
	return errors.New("the connection was lost")
}

func TestOutputToleratesLostAnswersToRenames(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out")
	files := New(Options{})
	files.wrap = func(s fileSystem) fileSystem { return &lossySystem{fileSystem: s, lost: map[string]bool{}} }
	require.NoError(t, runJob(files, target, "only"))
	content, ok := committed(t, target)
	require.True(t, ok)
	require.Equal(t, "only", content)
}

package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
)

// followed runs FollowLogs and returns the lines, each with its container as prefix. If seen is not
// nil, followed calls it with each line, from one goroutine at a time.
func followed(t *testing.T, f *fakeYARN, hadoop map[string]string, selection Selection, seen func(Line)) (lines []string, said string, err error) {
	t.Helper()
	out := &bytes.Buffer{}
	err = f.cluster(hadoop).followLogs(t.Context(), &follower{id: fakeID, selection: selection, console: client.NewConsole(out), pause: time.Millisecond, write: func(line Line) error {
		lines = append(lines, fmt.Sprintf("%s %s %s %d: %s", line.Container, line.Executor, line.File, line.Attempt, line.Text))
		if seen != nil {
			seen(line)
		}
		return nil
	}})
	return lines, out.String(), err
}

// grow appends text to a log, and life to f.reports, the answers about the application.
func (f *fakeYARN) grow(file, text string, life ...map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[file] += text
	f.reports = append(f.reports, life...)
}

func TestFollowLogsToTheEnd(t *testing.T) {
	f := withLogs(t)
	delete(f.files, "container_2_03/stderr")
	f.files["container_2_03/stdout"] = "begun"
	f.reports = []map[string]any{running()}
	var once sync.Once
	lines, said, err := followed(t, f, nil, Selection{}, func(line Line) {
		once.Do(func() { f.grow("container_2_03/stdout", " and ended\nthe last", running(), running(), succeeded()) })
	})
	require.NoError(t, err, said)
	require.ElementsMatch(t, []string{
		"container_2_01 driver stdout 2: driver's",
		"container_2_02 1 stderr 2: one", "container_2_02 1 stderr 2: two", "container_2_02 1 stderr 2: three",
		"container_2_03  stdout 2: begun and ended", "container_2_03  stdout 2: the last",
	}, lines)
}

func TestFollowLogsOfOneContainerFromItsLastLine(t *testing.T) {
	f := withLogs(t)
	f.reports = []map[string]any{succeeded()}
	lines, _, err := followed(t, f, nil, Selection{Container: "container_2_02", Tail: 1}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"container_2_02 1 stderr 2: three"}, lines)
}

// TestFollowLogsRetriesANodeThatDoesNotAnswer follows the logs of a node whose connections break
// during answers.
func TestFollowLogsRetriesANodeThatDoesNotAnswer(t *testing.T) {
	f := withLogs(t)
	f.reports = []map[string]any{running()}
	handler, calls := f.server.Config.Handler, 0
	var mu sync.Mutex
	f.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/ws/v1/node/") {
			mu.Lock()
			calls++
			broken := calls > 2 && calls < 8
			mu.Unlock()
			if broken {
				panic(http.ErrAbortHandler)
			}
		}
		handler.ServeHTTP(w, r)
	})
	var once sync.Once
	lines, said, err := followed(t, f, nil, Selection{}, func(Line) {
		once.Do(func() { f.grow("container_2_01/stdout", "more\n", running(), running(), running(), succeeded()) })
	})
	require.NoError(t, err)
	require.Contains(t, said, "cannot be read")
	require.Contains(t, said, "answers again")
	count := map[string]int{}
	for _, line := range lines {
		count[line]++
	}
	require.Equal(t, 1, count["container_2_01 driver stdout 2: driver's"])
	require.Equal(t, 1, count["container_2_01 driver stdout 2: more"])
	require.Equal(t, 2000, count["container_2_03  stderr 2: a longer line than most"])
}

func TestFollowLogsReturnsTheErrorOfWrite(t *testing.T) {
	f := withLogs(t)
	gone := errors.New("broken pipe")
	err := f.cluster(nil).FollowLogs(t.Context(), fakeID, Selection{}, client.NewConsole(&bytes.Buffer{}), func(Line) error { return gone })
	require.ErrorIs(t, err, gone)

	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	err = f.cluster(nil).FollowLogs(ctx, fakeID, Selection{}, client.NewConsole(&bytes.Buffer{}), func(Line) error {
		cancel(stop)
		return nil
	})
	require.ErrorIs(t, err, stop)
}

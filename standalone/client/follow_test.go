package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/logs"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

// fakeWorker serves the logs of one process, as a worker does.
type fakeWorker struct {
	server *httptest.Server

	mu      sync.Mutex
	files   map[string]string
	running bool
	silent  bool // the worker does not answer
}

func startFakeWorker(t *testing.T) *fakeWorker {
	w := &fakeWorker{files: map[string]string{}, running: true}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /json", func(answer http.ResponseWriter, _ *http.Request) {
		status := map[string][]map[string]string{}
		if w.running {
			status["executors"] = []map[string]string{{"logs": w.process().url}}
		}
		_ = json.NewEncoder(answer).Encode(status)
	})
	mux.HandleFunc("GET /logs/app-1/1", func(answer http.ResponseWriter, _ *http.Request) {
		var listed struct {
			Files []workerFile `json:"files"`
		}
		for _, name := range slices.Sorted(maps.Keys(w.files)) {
			listed.Files = append(listed.Files, workerFile{Name: name, Size: int64(len(w.files[name]))})
		}
		_ = json.NewEncoder(answer).Encode(listed)
	})
	mux.HandleFunc("GET /logs/app-1/1/{file}", func(answer http.ResponseWriter, r *http.Request) {
		content, there := w.files[r.PathValue("file")]
		if !there {
			http.NotFound(answer, r)
			return
		}
		http.ServeContent(answer, r, "log", time.Time{}, strings.NewReader(content))
	})
	w.server = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.silent {
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(answer, r)
	}))
	t.Cleanup(w.server.Close)
	return w
}

func (w *fakeWorker) process() processLogs {
	return executorLog("app-1", "1", w.server.URL+"/logs/app-1/1")
}

func (w *fakeWorker) change(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// followTest is a running follower.
type followTest struct {
	observe chan func() (*snapshot, error) // replaces the follower's observe
	lines   chan string
	ended   chan error
	console *strings.Builder
}

func followWorkers(t *testing.T, selection logs.Selection, observe func() (*snapshot, error)) *followTest {
	f := &followTest{observe: make(chan func() (*snapshot, error)), lines: make(chan string, 100), ended: make(chan error, 1), console: &strings.Builder{}}
	ctx, cancel := context.WithCancel(t.Context())
	follower := &follower{
		id: "app-1", selection: selection, console: client.NewConsole(f.console), pause: time.Millisecond,
		observe: func(context.Context, bool) (*snapshot, error) {
			select {
			case observe = <-f.observe:
			default:
			}
			return observe()
		},
		write: func(line logs.Line) error {
			f.lines <- line.Container + " " + line.Executor + " " + line.File + ": " + line.Text
			return nil
		},
	}
	var following sync.WaitGroup
	following.Go(func() { f.ended <- runFollower(ctx, follower) })
	t.Cleanup(func() {
		cancel()
		following.Wait()
	})
	return f
}

func (f *followTest) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, line := range want {
		require.Equal(t, "app-1/1 1 "+line, <-f.lines)
	}
}

func TestFollowReadsRolledFilesUntilTheExecutorEnds(t *testing.T) {
	w := startFakeWorker(t)
	live := map[string]bool{w.server.URL: true}
	observer := func(ended bool) func() (*snapshot, error) {
		return func() (*snapshot, error) {
			return &snapshot{ended: ended, processes: []processLogs{w.process()}, workers: live}, nil
		}
	}
	f := followWorkers(t, logs.Selection{}, observer(false)) // the worker has no log files yet
	w.change(func() { w.files["stderr"] = "one\ntw" })
	f.expect(t, "stderr: one")
	w.change(func() { w.files["stderr"] += "o\n"; w.files["stdout"] = "result\n" })
	first, second := <-f.lines, <-f.lines
	require.ElementsMatch(t, []string{"app-1/1 1 stderr: two", "app-1/1 1 stdout: result"}, []string{first, second})
	w.change(func() {
		w.files["stderr.1"] = w.files["stderr"] + "three\n"
		w.files["stderr"] = "four\n"
	})
	f.expect(t, "stderr.1: three", "stderr: four")

	// A new master does not know the executor at first, and then does not answer for a while.
	f.observe <- func() (*snapshot, error) { return &snapshot{workers: live}, nil }
	f.observe <- func() (*snapshot, error) { return nil, errors.New("no master leads") }
	w.change(func() { w.files["stderr"] += "five\n" })
	f.observe <- observer(true) // the executor outlives its application
	f.expect(t, "stderr: five")
	w.change(func() { w.files["stderr"] += "six\nno end"; w.running = false })
	f.expect(t, "stderr: six", "stderr: no end")
	require.NoError(t, <-f.ended)
	require.Equal(t, 1, strings.Count(f.console.String(), "no master leads; asking on"))
}

func TestFollowAppliesTheSelection(t *testing.T) {
	w := startFakeWorker(t)
	w.change(func() { w.files["stdout"] = "one\ntwo\nthree\n"; w.running = false })
	ended := func() (*snapshot, error) {
		return &snapshot{ended: true, processes: []processLogs{w.process()}, workers: map[string]bool{w.server.URL: true}}, nil
	}
	f := followWorkers(t, logs.Selection{Tail: 2}, ended)
	f.expect(t, "stdout: two", "stdout: three")
	require.NoError(t, <-f.ended)
	f = followWorkers(t, logs.Selection{Container: "app-1/2"}, ended)
	require.NoError(t, <-f.ended)
	require.Empty(t, f.lines)
}

func TestFollowDoesNotWaitForADeadWorker(t *testing.T) {
	w := startFakeWorker(t)
	w.change(func() { w.files["stdout"] = "one\ntw" })
	live := map[string]bool{w.server.URL: true}
	f := followWorkers(t, logs.Selection{}, func() (*snapshot, error) {
		return &snapshot{processes: []processLogs{w.process()}, workers: live}, nil
	})
	f.expect(t, "stdout: one")
	w.change(func() { w.silent = true })
	f.observe <- func() (*snapshot, error) {
		return &snapshot{ended: true, workers: map[string]bool{w.server.URL: false}}, nil
	}
	f.expect(t, "stdout: tw")
	require.NoError(t, <-f.ended)
	require.Contains(t, f.console.String(), "the last lines of app-1/1 may be missing: its worker is gone")
}

func TestFollowFailsIfTheIDIsUnknown(t *testing.T) {
	unknown := func() (*snapshot, error) { return nil, client.RefusedError(&unknownIDError{"app-1"}) }
	f := followWorkers(t, logs.Selection{}, unknown)
	require.ErrorContains(t, <-f.ended, "the cluster does not know app-1")
	f = followWorkers(t, logs.Selection{}, func() (*snapshot, error) { return &snapshot{}, nil })
	f.observe <- unknown
	require.Equal(t, client.ExitCluster, client.ExitCode(<-f.ended))
	f = followWorkers(t, logs.Selection{}, func() (*snapshot, error) { return nil, errors.New("no master leads") })
	require.ErrorContains(t, <-f.ended, "no master leads", "the first request is not retried")
}

func TestFollowFailsOnceTheMasterForgetsTheDriver(t *testing.T) {
	m, s := startFakeMaster(t)
	m.drivers = []string{"driver-1"}
	m.change = func(int, *cluster.Status) { m.drivers = nil }
	var console strings.Builder
	err := s.FollowLogs(t.Context(), "driver-1", logs.Selection{}, client.NewConsole(&console), nil)
	require.ErrorContains(t, err, "the cluster does not know driver-1")
	require.Empty(t, console.String())
}

func TestFollowReturnsAnErrorOfWrite(t *testing.T) {
	w := startFakeWorker(t)
	w.change(func() { w.files["stdout"] = "one\n" })
	follower := &follower{
		id: "app-1", console: client.NewConsole(io.Discard), pause: time.Millisecond,
		observe: func(context.Context, bool) (*snapshot, error) {
			return &snapshot{processes: []processLogs{w.process()}, workers: map[string]bool{w.server.URL: true}}, nil
		},
		write: func(logs.Line) error { return errors.New("the disk is full") },
	}
	require.EqualError(t, runFollower(t.Context(), follower), "the disk is full")
}

package eventlog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/internal/ui"
	"github.com/bobbin-yarn/bobbin/internal/ui/uitest"
	"github.com/bobbin-yarn/bobbin/storage"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var start = time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)

func at(after time.Duration) events.Time { return events.At(start.Add(after)) }

// record records an application with tasks. One task in a hundred fails, and one task runs until
// the recording ends.
func record(r *events.Recorder, tasks int) {
	r.Record(&events.ApplicationStarted{
		Time: at(0), ID: "application_1", Attempt: 1, Name: "count", User: "alice", Master: "yarn", Mode: "cluster", Version: "v1", Go: "go1",
		Settings: []events.Setting{{Key: "executor.cores", Value: "2", Source: "the command line"}},
	})
	r.Record(&events.ProfileAdded{Time: at(0), MemoryBytes: 1 << 30, Cores: 2})
	for number := range uint32(4) {
		r.Record(&events.ExecutorRegistered{Time: at(1), Number: number + 1, ID: fmt.Sprint(number + 1), Host: "host", Cores: 2})
	}
	r.Record(&events.JobSubmitted{Time: at(2), Job: 1, Name: "count"})
	r.Record(&events.TaskSetSubmitted{Time: at(2), Set: 1, Job: 1, Name: "count", Tasks: tasks, CPUs: 1})
	random := rand.New(rand.NewPCG(1, 2))
	now := events.MicrosOf(start)
	for task := range uint32(tasks) {
		now += events.Micros(random.IntN(200))
		a := events.Attempt{Set: 1, Task: task, Executor: uint32(1 + random.IntN(4)), Locality: events.LocalityNoPreference, Start: now}
		r.Launched(&a)
		if int(task) == tasks-1 {
			break
		}
		a.Queue, a.Decode, a.Encode = events.Micros(random.IntN(30)), events.Micros(random.IntN(5)), events.Micros(random.IntN(3))
		a.Run = 9000 + events.Micros(random.IntN(2000))
		a.ResultBytes, a.PeakMemory = 8, int64(20<<20+random.IntN(16)*(64<<10))
		a.End = a.Start + a.Queue + a.Decode + a.Run + a.Encode + events.Micros(200+random.IntN(200))
		if task%100 == 50 {
			a.Outcome = events.OutcomeFailed
			r.Record(&events.AttemptFailed{Time: events.At(a.End.Time()), Set: 1, Task: task, Executor: a.Executor, Message: "no such file"})
		} else {
			a.Outcome = events.OutcomeSucceeded
		}
		r.Ended(&a, true)
	}
}

// write writes the log of an application with tasks. It returns the log's path and the last state
// of the application.
func write(t testing.TB, directory string, tasks int) (path string, state *events.Snapshot) {
	t.Helper()
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	var warnings bytes.Buffer
	log := eventlog.Start(eventlog.Options{
		Files: files, Directory: directory, Application: "application_1", Attempt: 1, Logger: slog.New(slog.NewTextHandler(&warnings, nil)),
	})
	r := events.NewRecorder(events.Limits{}, log)
	record(r, tasks)
	r.Close()
	log.Close(context.Background(), events.StateSucceeded, r.Snapshot())
	require.Empty(t, warnings.String())
	entries, err := eventlog.List(context.Background(), files, directory)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, events.StateSucceeded, entries[0].State)
	require.Equal(t, "application_1", entries[0].Application)
	require.Equal(t, 1, entries[0].Attempt)
	return strings.TrimPrefix(entries[0].Path, "file://"), r.Snapshot()
}

// text returns all content of a snapshot as text.
func text(t testing.TB, s *events.Snapshot) string {
	t.Helper()
	encoded, err := json.MarshalIndent(s, "", "\t")
	require.NoError(t, err)
	var b strings.Builder
	b.Write(encoded)
	attempts := slices.SortedFunc(func(yield func(events.Attempt) bool) {
		for a := range s.Attempts() {
			if !yield(*a) {
				return
			}
		}
	}, func(a, b events.Attempt) int { return int(a.Task) - int(b.Task) })
	for _, a := range attempts {
		fmt.Fprintf(&b, "\n%+v", a)
	}
	fmt.Fprintf(&b, "\nrunning %+v", s.RunningAttempts())
	for _, e := range s.Recent {
		fmt.Fprintf(&b, "\n%+v", e)
	}
	return b.String()
}

func load(t testing.TB, path string) (state *events.Snapshot, truncated bool) {
	t.Helper()
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	model, truncated, err := eventlog.Load(context.Background(), files, path, events.Limits{})
	require.NoError(t, err)
	return model.Snapshot(), truncated
}

func TestHistoryIsWhatWasShown(t *testing.T) {
	path, want := write(t, t.TempDir(), 20_000)
	got, truncated := load(t, path)
	require.False(t, truncated)
	require.Equal(t, text(t, want), text(t, got))
}

// TestHistoryPagesEqualLivePages renders each page from the driver's state and from the log, and
// compares the two.
func TestHistoryPagesEqualLivePages(t *testing.T) {
	nightly, _ := uitest.Nightly()
	for name, test := range map[string]struct {
		application *events.Batch
		pages       []string
	}{
		"busy": {uitest.Busy(uitest.Plain), slices.Collect(maps.Values(uitest.EveryPage))},
		"hostile names": {
			uitest.Busy(func(name string) string { return strings.Join(uitest.Hostile, " ") + name }), slices.Collect(maps.Values(uitest.EveryPage)),
		},
		"nightly": {nightly, []string{
			"", "page=jobs", "page=job&id=1", "page=job&id=6", "page=stage&id=5", "page=tasks&id=10", "page=task&set=10&index=9", "page=executors", "page=executor&id=4",
			"page=storage", "page=settings", "page=events",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			live := uitest.Snapshot(test.application)
			history := throughLog(t, test.application, live)
			for _, query := range append(test.pages, "data=stream") {
				require.Equal(t, render(t, live, query), render(t, history, query), query)
			}
		})
	}
}

// throughLog writes the log of an application whose last state is given, and returns the state
// that results from reading the log.
func throughLog(t *testing.T, application *events.Batch, state *events.Snapshot) *events.Snapshot {
	t.Helper()
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	directory := t.TempDir()
	log := eventlog.Start(eventlog.Options{Files: files, Directory: directory, Application: "application_1", Attempt: 1, Logger: slog.New(slog.DiscardHandler)})
	log.Consume(application)
	log.Close(context.Background(), events.StateSucceeded, state)
	history, truncated := load(t, filepath.Join(directory, "application_1.1.succeeded.jsonl.zst"))
	require.False(t, truncated)
	return history
}

func render(t *testing.T, s *events.Snapshot, query string) string {
	t.Helper()
	pages := ui.New(ui.Options{Snapshot: func() *events.Snapshot { return s }, Now: func() time.Time { return uitest.Later }})
	answer := httptest.NewRecorder()
	pages.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/?"+query, nil))
	require.Equal(t, http.StatusOK, answer.Code)
	return answer.Body.String()
}

func TestSummaryIsTheLastState(t *testing.T) {
	path, want := write(t, t.TempDir(), 2000)
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	summary, err := eventlog.LoadSummary(context.Background(), files, path)
	require.NoError(t, err)
	require.Equal(t, want.Totals, summary.Totals)
	require.Equal(t, want.Application, summary.Application)
	require.Equal(t, want.Job(1).Counts, summary.Job(1).Counts)
	require.Equal(t, "3", summary.Executor(3).ID)
}

// TestTruncatedLogs reads prefixes of a log. Each prefix must describe an earlier state of the
// application.
func TestTruncatedLogs(t *testing.T) {
	path, _ := write(t, t.TempDir(), 30_000)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	shortened := filepath.Join(t.TempDir(), "application_1.1.running.jsonl.zst")
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	done := 0
	for _, length := range []int{0, 1, 3, 4, 5, 10, len(content) / 3, len(content) / 2, len(content) - 100, len(content) - 24, len(content) - 1} {
		require.NoError(t, os.WriteFile(shortened, content[:length], 0o600))
		state, _ := load(t, shortened)
		require.GreaterOrEqual(t, state.Totals.Done, done)
		done = state.Totals.Done
		summary, err := eventlog.LoadSummary(context.Background(), files, shortened)
		require.NoError(t, err)
		require.Nil(t, summary)
	}
	require.Positive(t, done)
}

func TestDamagedLogs(t *testing.T) {
	frame := func(line string) []byte {
		encoder, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		return encoder.EncodeAll([]byte(line+"\n"), nil)
	}
	good := frame(`{"type":"log","version":1}`)
	for name, each := range map[string]struct {
		frame []byte
		want  string
	}{
		"no zstd":        {[]byte("neither zstd nor anything else"), "begin no frame of zstd"},
		"later version":  {frame(`{"type":"log","version":2}`), "use a newer yarn-submit"},
		"no JSON":        {frame(`{"type":"attempts","n":1,`), `line 1 of the frame: a line of type "attempts"`},
		"no type":        {frame(`{"time":1}`), "a line without a type"},
		"missing values": {frame(`{"type":"attempts","n":2,"set":[1]}`), "column set has 1 values for 2 rows"},
		"too many":       {frame(`{"type":"attempts","n":1,"set":[1,2]}`), "column set has 2 values for 1 rows"},
		"no number":      {frame(`{"type":"attempts","n":1,"set":["a"]}`), "column set: value 0 is no whole number"},
		"rows":           {frame(`{"type":"attempts","n":1000000000}`), "1000000000 rows in a line"},
		"event":          {frame(`{"type":"jobEnded","job":"x"}`), `a line of type "jobEnded"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := eventlog.Read(context.Background(), bytes.NewReader(slices.Concat(good, each.frame)), "hdfs://c/log", events.NewModel(events.Limits{}))
			require.ErrorContains(t, err, fmt.Sprintf("hdfs://c/log: at byte %d: ", len(good)))
			require.ErrorContains(t, err, each.want)
		})
	}
}

func TestUnknownTypesAndFieldsAreIgnored(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	lines := `{"type":"log","version":1,"color":"red"}
{"type":"weatherChanged","time":5}
{"type":"jobSubmitted","time":"2026-01-02T03:04:05Z","job":1,"name":"count","mood":{"a":[1]}}
{"new":1,"type":"taskSetSubmitted","time":"2026-01-02T03:04:05Z","set":1,"job":1,"tasks":2}
{"type":"attempts","n":2,"set":[1,0],"task":[0,1],"outcome":[1,1],"smell":["x"]}
`
	model := events.NewModel(events.Limits{})
	truncated, err := eventlog.Read(context.Background(), bytes.NewReader(encoder.EncodeAll([]byte(lines), nil)), "log", model)
	require.NoError(t, err)
	require.False(t, truncated)
	require.Equal(t, 2, model.Snapshot().Job(1).Counts.Done)
}

func TestFailingLogDoesNoHarm(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	var logged bytes.Buffer
	log := eventlog.Start(eventlog.Options{
		Files: files, Directory: file + "/below", Application: "a", Attempt: 1, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
	})
	r := events.NewRecorder(events.Limits{}, log)
	record(r, 1000)
	r.Close()
	log.Close(context.Background(), events.StateSucceeded, r.Snapshot())
	require.Contains(t, logged.String(), "the event log ends here")
	require.Equal(t, 1000-1-10, r.Snapshot().Totals.Done)
}

func TestNoLogWithoutHome(t *testing.T) {
	home := filepath.Join(t.TempDir(), "alice")
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	log := eventlog.Start(eventlog.Options{
		Files: files, Directory: home + "/history", RequiredHome: home, Application: "a", Attempt: 1, Logger: slog.New(slog.DiscardHandler),
	})
	log.Close(context.Background(), events.StateSucceeded, &events.Snapshot{})
	require.NoDirExists(t, home)
}

func TestOldLogsAreRemoved(t *testing.T) {
	directory := t.TempDir()
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{"a.1.failed.jsonl.zst", "b.1.running.jsonl.zst", "notes.txt", "new.1.killed.jsonl.zst", "new.1.running.jsonl.zst", "other.1.failed.jsonl.zst"} {
		path := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		if !strings.HasPrefix(name, "new") {
			require.NoError(t, os.Chtimes(path, old, old))
		}
	}
	want := []string{"new.1.killed.jsonl.zst", "new.1.running.jsonl.zst", "notes.txt", "own.1.succeeded.jsonl.zst"}
	if os.Getuid() == 0 { // only root can change the owner of a file
		require.NoError(t, os.Lchown(filepath.Join(directory, "other.1.failed.jsonl.zst"), 12345, -1))
		want = append(want, "other.1.failed.jsonl.zst")
	}
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	log := eventlog.Start(eventlog.Options{
		Files: files, Directory: directory, MaxAge: 24 * time.Hour, Application: "own", Attempt: 1, Logger: slog.New(slog.DiscardHandler),
	})
	log.Close(t.Context(), events.StateSucceeded, &events.Snapshot{})
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	var names []string
	for _, entry := range left {
		names = append(names, entry.Name())
	}
	require.ElementsMatch(t, want, names)
}

// TestARunningLogStaysYoung runs with the fake clock of synctest, which starts in the year 2000.
func TestARunningLogStaysYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory, began := t.TempDir(), time.Now()
		files := storage.New(storage.Options{})
		defer func() { require.NoError(t, files.Close()) }()
		log := eventlog.Start(eventlog.Options{Files: files, Directory: directory, Application: "a", Attempt: 1, Logger: slog.New(slog.DiscardHandler)})
		for hours := 1; hours <= 2; hours++ {
			time.Sleep(time.Hour + time.Minute)
			synctest.Wait()
			info, err := os.Stat(filepath.Join(directory, "a.1.running.jsonl.zst"))
			require.NoError(t, err)
			require.WithinDuration(t, began.Add(time.Duration(hours)*time.Hour), info.ModTime(), time.Second)
		}
		log.Close(t.Context(), events.StateSucceeded, &events.Snapshot{})
	})
}

// TestAKilledDriverLosesSecondsOnly reads a log while it is being written.
func TestAKilledDriverLosesSecondsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory := t.TempDir()
		files := storage.New(storage.Options{})
		defer func() { require.NoError(t, files.Close()) }()
		log := eventlog.Start(eventlog.Options{Files: files, Directory: directory, Application: "a", Attempt: 1, Logger: slog.New(slog.DiscardHandler)})
		r := events.NewRecorder(events.Limits{}, log)
		for number := 1; number <= 3; number++ {
			r.Record(&events.StepStarted{Time: events.At(time.Now()), Step: fmt.Sprint(number)})
			time.Sleep(5 * time.Second)
			synctest.Wait()
			state, _ := load(t, filepath.Join(directory, "a.1.running.jsonl.zst"))
			require.Len(t, state.Steps, number)
		}
		r.Close()
		log.Close(t.Context(), events.StateSucceeded, r.Snapshot())
	})
}

func TestListIgnoresOtherFiles(t *testing.T) {
	directory := t.TempDir()
	for _, name := range []string{"notes.txt", "a.jsonl.zst", "a.b.running.jsonl.zst", "local-1.2.failed.jsonl.zst", "x.1.running.jsonl.zst"} {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), nil, 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(directory, "d.1.running.jsonl.zst"), 0o700))
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	entries, err := eventlog.List(context.Background(), files, directory)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, fmt.Sprintf("%s %d %s", e.Application, e.Attempt, e.State))
	}
	require.ElementsMatch(t, []string{"local-1 2 failed", "x 1 running"}, names)
	entries, err = eventlog.List(context.Background(), files, directory+"/none")
	require.NoError(t, err)
	require.Empty(t, entries)
}

var update = flag.Bool("update", false, "write the golden log again")

// TestGoldenLog reads a stored log of version 1 of the format.
func TestGoldenLog(t *testing.T) {
	const log, state = "testdata/v1.jsonl.zst", "testdata/v1.txt"
	if *update {
		path, want := write(t, t.TempDir(), 200)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(log, content, 0o644))
		require.NoError(t, os.WriteFile(state, []byte(text(t, want)+"\n"), 0o644))
	}
	got, truncated := load(t, log)
	require.False(t, truncated)
	want, err := os.ReadFile(state)
	require.NoError(t, err)
	require.Equal(t, string(want), text(t, got)+"\n")
}

// FuzzRead checks that no input makes Read panic or use too much memory.
func FuzzRead(f *testing.F) {
	golden, err := os.ReadFile("testdata/v1.jsonl.zst")
	require.NoError(f, err)
	f.Add(golden)
	f.Add(golden[:len(golden)/2])
	f.Fuzz(func(t *testing.T, log []byte) {
		model := events.NewModel(events.Limits{Jobs: 100, Attempts: 10_000})
		if _, err := eventlog.Read(context.Background(), bytes.NewReader(log), "log", model); err != nil {
			require.ErrorContains(t, err, "log: at byte ")
		}
		model.Snapshot()
	})
}

// FuzzLines checks that no line makes the decoder or the model panic.
func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"type":"attempts","n":2,"set":[1,0],"task":[0,1],"outcome":[1,1],"other":[1,2]}`))
	f.Add([]byte(`{"type":"jobSubmitted","time":"2026-01-02T03:04:05Z","job":1,"stages":[{"stage":2}]}`))
	f.Add([]byte(`{"type":"taskSetSubmitted","set":1,"job":1,"tasks":2}` + "\n" + `{"type":"omitted","set":1,"ended":3,"took":[0,3]}`))
	f.Add([]byte(`{"type":"attemptFailed","set":1,"message":"no"}`))
	encoder, err := zstd.NewWriter(nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, lines []byte) {
		model := events.NewModel(events.Limits{Jobs: 100, Attempts: 10_000})
		if _, err := eventlog.Read(context.Background(), bytes.NewReader(encoder.EncodeAll(lines, nil)), "log", model); err != nil {
			require.ErrorContains(t, err, "log: at byte 0: ")
		}
		_, err := json.Marshal(model.Snapshot())
		_ = err // times after the year 9999 cannot be encoded as JSON
	})
}

// BenchmarkLog measures the size of a log, and the time of writing and of reading the log.
func BenchmarkLog(b *testing.B) {
	const tasks = 100_000
	var size int64
	var reading time.Duration
	for b.Loop() {
		path, _ := write(b, b.TempDir(), tasks)
		info, err := os.Stat(path)
		require.NoError(b, err)
		size = info.Size()
		began := time.Now()
		state, _ := load(b, path)
		reading += time.Since(began)
		require.Equal(b, tasks-1-tasks/100, state.Totals.Done)
	}
	b.ReportMetric(float64(size)/tasks, "B/task")
	b.ReportMetric(float64(reading.Nanoseconds())/float64(b.N)/tasks, "ns-read/task")
}

package historyserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/storage"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// writeLog writes the log of an application of the user alice. If state is running, the log has no
// summary and no footer.
func writeLog(t *testing.T, files *storage.Files, directory, id string, attempt int, state string, settings map[string]string) {
	t.Helper()
	log := eventlog.Start(eventlog.Options{Files: files, Directory: directory, Application: id, Attempt: attempt, Logger: slog.New(slog.DiscardHandler)})
	r := events.NewRecorder(events.Limits{}, log)
	started := &events.ApplicationStarted{Time: events.At(time.Now()), ID: id, Attempt: attempt, Name: "the name of " + id, User: "alice"}
	for key, value := range settings {
		started.Settings = append(started.Settings, events.Setting{Key: key, Value: value})
	}
	r.Record(started)
	r.Record(&events.TaskSetSubmitted{Time: events.At(time.Now()), Set: 1, Job: 1, Name: fmt.Sprintf("job of attempt %d", attempt), Tasks: 1})
	if state != events.StateRunning {
		r.Record(&events.ApplicationEnded{Time: events.At(time.Now()), State: state})
	}
	r.Close()
	log.Close(context.Background(), state, r.Snapshot())
	if state == events.StateRunning { // remove the summary that Close has written, because the log of a killed driver has no summary
		path := filepath.Join(directory, fmt.Sprintf("%s.%d.running.jsonl.zst", id, attempt))
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, content[:len(content)-30], 0o600))
	}
}

type fixture struct {
	*Server
	files     *storage.Files
	directory string
}

func newFixture(t *testing.T, o Options) fixture {
	t.Helper()
	f := fixture{files: storage.New(storage.Options{}), directory: t.TempDir()}
	o.Files, o.Directory, o.Logger = f.files, f.directory, slog.New(slog.DiscardHandler)
	f.Server = New(o)
	t.Cleanup(func() {
		f.Close()
		require.NoError(t, f.files.Close())
	})
	return f
}

// ask returns the response to a request for path. The request comes from the address from, and its
// user header is reader.
func (f fixture) ask(path, from, reader string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.RemoteAddr = from
	if reader != "" {
		request.Header.Set("X-Remote-User", reader)
	}
	answer := httptest.NewRecorder()
	f.ServeHTTP(answer, request)
	return answer
}

const (
	proxy    = "10.1.2.3:4711"
	stranger = "10.9.9.9:4711"
)

func TestEachLogSaysWhoMaySeeIt(t *testing.T) {
	f := newFixture(t, Options{UserHeader: "X-Remote-User", Proxies: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	acls := map[string]string{"acls.enable": "true"}
	writeLog(t, f.files, f.directory, "application_1_0001", 1, events.StateSucceeded, nil)
	writeLog(t, f.files, f.directory, "application_1_0002", 1, events.StateSucceeded, acls)
	writeLog(t, f.files, f.directory, "application_1_0003", 1, events.StateRunning, map[string]string{"acls.enable": "true", "ui.view.acls": "bob"})
	writeLog(t, f.files, f.directory, "application_1_0004", 1, events.StateSucceeded, map[string]string{"acls.enable": "maybe"}) // invalid setting
	for _, test := range []struct {
		from, reader string
		sees         string
	}{
		{proxy, "alice", "1 2 3 4"}, {proxy, "bob", "1 3"}, {proxy, "eve", "1"}, {proxy, "", "1"},
		{stranger, "alice", "1"}, {stranger, "", "1"}, {"nonsense", "alice", "1"},
	} {
		index := f.ask("/", test.from, test.reader)
		require.Equal(t, http.StatusOK, index.Code)
		for i := range 4 {
			id := fmt.Sprintf("application_1_000%d", i+1)
			may := strings.Contains(test.sees, fmt.Sprint(i+1))
			require.Equal(t, may, strings.Contains(index.Body.String(), id), "%+v %s", test, id)
			for _, path := range []string{"/" + id, "/" + id + "/", "/" + id + "/1/", "/" + id + "/1/?page=settings", "/" + id + "/?data=stream"} {
				answer := f.ask(path, test.from, test.reader)
				want := http.StatusForbidden
				if may {
					want = http.StatusOK
				} else {
					require.NotContains(t, answer.Body.String(), "the name of")
				}
				require.Equal(t, want, answer.Code, "%+v %s", test, path)
			}
		}
	}
	unknown := f.ask("/application_1_0009/", proxy, "alice")
	require.Equal(t, http.StatusForbidden, unknown.Code)
	require.Equal(t, f.ask("/application_1_0002/", proxy, "eve").Body.String(), unknown.Body.String(), "a reader does not learn what there is")
}

func TestAttemptsHaveTheirPages(t *testing.T) {
	f := newFixture(t, Options{})
	writeLog(t, f.files, f.directory, "application_1_0001", 1, events.StateRunning, nil)
	writeLog(t, f.files, f.directory, "application_1_0001", 2, events.StateFailed, nil)
	require.Contains(t, f.ask("/application_1_0001/?page=jobs", stranger, "").Body.String(), "job of attempt 2")
	require.Contains(t, f.ask("/application_1_0001/1/?page=jobs", stranger, "").Body.String(), "job of attempt 1")
	require.Contains(t, f.ask("/application_1_0001/1/", stranger, "").Body.String(), "The log has no end")
	require.Equal(t, http.StatusForbidden, f.ask("/application_1_0001/3/", stranger, "").Code)
	require.Equal(t, http.StatusOK, f.ask("/?asset=ui.css", stranger, "").Code)
	require.Equal(t, http.StatusOK, f.ask("/application_1_0001/2/?asset=ui.css", stranger, "").Code)
}

func TestFewApplicationsAreInMemory(t *testing.T) {
	f := newFixture(t, Options{})
	for i := range 2 * maxOpened {
		id := fmt.Sprintf("application_1_000%d", i+1)
		writeLog(t, f.files, f.directory, id, 1, events.StateSucceeded, nil)
	}
	for i := range 2 * maxOpened {
		id := fmt.Sprintf("application_1_000%d", i+1)
		require.Contains(t, f.ask("/"+id+"/", stranger, "").Body.String(), "the name of "+id)
		require.LessOrEqual(t, len(f.opened.opened), maxOpened)
	}
}

func TestADamagedLogIsAnError(t *testing.T) {
	f := newFixture(t, Options{})
	require.NoError(t, os.WriteFile(filepath.Join(f.directory, "application_1_0001.1.failed.jsonl.zst"), []byte("no log"), 0o600))
	require.Equal(t, http.StatusOK, f.ask("/", stranger, "").Code)
	require.Equal(t, http.StatusForbidden, f.ask("/application_1_0001/", stranger, "").Code)
}

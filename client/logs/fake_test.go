package logs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/storage"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fakeYARN is a fake ResourceManager with one application, and the fake NodeManager of its
// containers.
type fakeYARN struct {
	t      *testing.T
	server *httptest.Server

	mu sync.Mutex
	// reports contains the fields of the application in successive answers. The last element is
	// repeated. For a nil element, the answer is that the application is unknown.
	reports  []map[string]any
	requests int    // number of requests for the application
	other    string // another id under which the application is known

	attempts   string              // attempts of the application, as JSON
	containers map[string]string   // containers of each attempt, as JSON
	files      map[string]string   // contents of logs, by "container/name"
	states     map[string][]string // successive states of each container, by container id; the last one is repeated

	// moving reports whether the node still knows the application. before is the number of earlier
	// requests. If moving is nil, the node does not know the application.
	moving func(before int) bool
	moves  int
}

const fakeID = "application_1700000000000_0001"

func succeeded() map[string]any {
	return map[string]any{"state": "FINISHED", "finalStatus": "SUCCEEDED"}
}

func running() map[string]any {
	return map[string]any{"state": "RUNNING", "finalStatus": "UNDEFINED"}
}

func newFakeYARN(t *testing.T) *fakeYARN {
	f := &fakeYARN{t: t, files: map[string]string{}, attempts: "null", containers: map[string]string{}}
	mux := http.NewServeMux()
	const apps = "/ws/v1/cluster/apps"
	mux.HandleFunc("GET "+apps+"/{id}", f.application)
	mux.HandleFunc("GET "+apps+"/{id}/appattempts", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"appAttempts":{"appAttempt":%s}}`, f.attempts)
	})
	mux.HandleFunc("GET "+apps+"/{id}/appattempts/{attempt}/containers", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"container":%s}`, cmp.Or(f.containers[r.PathValue("attempt")], "null"))
	})
	mux.HandleFunc("GET /ws/v1/node/apps/{id}", f.hasApplication)
	mux.HandleFunc("GET /ws/v1/node/containers/{container}", f.container)
	mux.HandleFunc("GET /ws/v1/node/containers/{container}/logs", f.listLogs)
	mux.HandleFunc("GET /ws/v1/node/containerlogs/{container}/{name}", f.log)
	f.server = httptest.NewServer(mux)
	t.Cleanup(f.server.Close)
	return f
}

func (f *fakeYARN) address() string { return strings.TrimPrefix(f.server.URL, "http://") }

// cluster returns a Reader of this cluster's logs. Its file system is the local disk. more are
// further Hadoop properties.
func (f *fakeYARN) cluster(more map[string]string) *Reader {
	values := map[string]string{"yarn.resourcemanager.webapp.address": f.address(), "fs.defaultFS": "file:///"}
	for key, value := range more {
		values[key] = value
	}
	hadoop := conf.FromMap(values)
	rest, err := yarnrest.FromConf(hadoop, yarnrest.Options{User: "ann"})
	require.NoError(f.t, err)
	f.t.Cleanup(rest.CloseIdleConnections)
	return &Reader{hadoop: hadoop, user: "ann", apps: rest, rest: rest, log: slog.New(slog.DiscardHandler), openFiles: func() *storage.Files {
		return storage.New(storage.Options{Hadoop: hadoop, User: "ann"})
	}}
}

func (f *fakeYARN) application(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	index := min(f.requests, len(f.reports)-1)
	f.requests++
	id := r.PathValue("id")
	if id != fakeID && id != f.other || index < 0 || f.reports[index] == nil {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"RemoteException":{"exception":"NotFoundException","javaClassName":"org.apache.hadoop.yarn.webapp.NotFoundException","message":"java.lang.Exception: app with id: %s not found"}}`, r.PathValue("id"))
		return
	}
	now := f.reports[index]
	app := map[string]any{"id": id, "name": "app", "user": "ann", "queue": "default", "trackingUrl": "http://rm/proxy/" + fakeID + "/"}
	for key, value := range now {
		app[key] = value
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"app": app})
}

func (f *fakeYARN) hasApplication(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moves++
	if f.moving == nil || !f.moving(f.moves-1) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	fmt.Fprintf(w, `{"app":{"id":%q,"state":"RUNNING"}}`, r.PathValue("id"))
}

func (f *fakeYARN) container(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := r.PathValue("container")
	states := f.states[id]
	if len(states) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if len(states) > 1 {
		f.states[id] = states[1:]
	}
	fmt.Fprintf(w, `{"container":{"id":%q,"state":%q}}`, id, states[0])
}

func (f *fakeYARN) listLogs(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var infos []map[string]any
	for _, name := range []string{"stdout", "stderr", "task-0-0.out", "launch_container.sh", "containers.jsonl"} {
		if content, ok := f.files[r.PathValue("container")+"/"+name]; ok {
			infos = append(infos, map[string]any{"fileName": name, "fileSize": fmt.Sprint(len(content))})
		}
	}
	if infos == nil {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"RemoteException":{"exception":"NotFoundException","message":"Unknown container"}}`)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"containerLogsInfo": map[string]any{"containerLogInfo": infos, "logAggregationType": "LOCAL"}})
}

func (f *fakeYARN) log(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	content, ok := f.files[r.PathValue("container")+"/"+r.PathValue("name")]
	f.mu.Unlock()
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"RemoteException":{"exception":"NotFoundException","message":"no such file"}}`)
		return
	}
	sent := content
	var tail int
	if _, err := fmt.Sscanf(r.URL.Query().Get("size"), "-%d", &tail); err == nil && tail < len(sent) {
		sent = sent[len(sent)-tail:]
	}
	fmt.Fprintf(w, "Container: c on h\nLogAggregationType: LOCAL\n====\nLogType:%s\nLogLastModifiedTime:Mon\nLogLength:%d\nLogContents:\n%s\nEnd of LogType:%[1]s\n",
		r.PathValue("name"), len(content), sent)
}

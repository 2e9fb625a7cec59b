package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fakeYARN is a fake ResourceManager with one application.
type fakeYARN struct {
	t      *testing.T
	server *httptest.Server

	mu sync.Mutex
	// reports contains the fields of the application in successive answers. The last element is
	// repeated. For a nil element, the answer is that the application is unknown.
	reports []map[string]any
	// statuses contains the successive answers of the ApplicationMaster. The last element is
	// repeated.
	statuses []string
	// refusal is the error message with which submissions fail; "" for none.
	refusal string
	// listed are the applications in lists before the submission, listedAfter those after the
	// submission.
	listed, listedAfter []map[string]any
	// asked contains the query parameters of each request for a list of applications.
	asked []url.Values
	// other is the id of another application, which is never killed.
	other string

	submitted map[string]any // body of the submission request
	killed    string         // diagnostics in the request to kill the application
	requests  int
	timeout   map[string]any // body of the request for a timeout
	timeoutIn map[string]any // latest answer about the application before the request for a timeout
}

const fakeID = "application_1700000000000_0001"

func newFakeYARN(t *testing.T) *fakeYARN {
	f := &fakeYARN{t: t}
	mux := http.NewServeMux()
	const apps = "/ws/v1/cluster/apps"
	mux.HandleFunc("POST "+apps+"/new-application", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"application-id":%q,"maximum-resource-capability":{"memory":4096,"vCores":4,"resourceInformations":{"resourceInformation":[`+
			`{"name":"memory-mb","units":"Mi","value":4096},{"name":"vcores","units":"","value":4},{"name":"yarn.io/gpu","units":"","value":2},{"name":"disk","units":"G","value":100}]}}}`, fakeID)
	})
	mux.HandleFunc("GET /ws/v1/cluster/scheduler", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queues":{"queue":[`+
			`{"queueName":"default","queuePath":"root.default","state":"RUNNING"},`+
			`{"queueName":"small","queuePath":"root.small","state":"RUNNING","maximumAllocation":{"memory":512,"vCores":1}},`+
			`{"queueName":"shut","queuePath":"root.shut","state":"STOPPED"},`+
			`{"queueName":"users","queuePath":"root.users","state":"RUNNING","queues":{"queue":[{"queueName":"ann","queuePath":"root.users.ann","state":"RUNNING"}]}}]}}}}`)
	})
	mux.HandleFunc("GET /ws/v1/cluster/nodes", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"nodes":{"node":[{"id":"h1:1","nodeHostName":"h1","rack":"/r1","state":"RUNNING","nodeLabels":["fast"],`+
			`"totalResource":{"memory":4000,"vCores":8,"resourceInformations":{"resourceInformation":[{"name":"yarn.io/gpu","value":1},{"name":"disk","value":50}]}}}]}}`)
	})
	mux.HandleFunc("GET /ws/v1/cluster/get-node-labels", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"nodeLabelInfo":[{"name":"fast","exclusivity":true},{"name":"slow","exclusivity":true}]}`)
	})
	mux.HandleFunc("POST "+apps, f.submit)
	mux.HandleFunc("GET "+apps, f.list)
	mux.HandleFunc("GET "+apps+"/{id}", f.application)
	mux.HandleFunc("PUT "+apps+"/{id}/timeout", func(_ http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		_ = json.NewDecoder(r.Body).Decode(&f.timeout)
		f.timeoutIn = f.reports[min(f.requests, len(f.reports))-1]
	})
	mux.HandleFunc("GET "+apps+"/{id}/state", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"state":"RUNNING"}`) })
	mux.HandleFunc("PUT "+apps+"/{id}/state", f.kill)
	mux.HandleFunc("GET /proxy/{id}/api/status", f.status)
	f.server = httptest.NewServer(mux)
	t.Cleanup(f.server.Close)
	return f
}

func (f *fakeYARN) address() string { return strings.TrimPrefix(f.server.URL, "http://") }

// cluster returns a Cluster that uses this ResourceManager and, as its file system, the local disk.
// more are further Hadoop properties.
func (f *fakeYARN) cluster(more map[string]string) *Cluster {
	values := map[string]string{"yarn.resourcemanager.webapp.address": f.address(), "fs.defaultFS": "file:///"}
	for key, value := range more {
		values[key] = value
	}
	cluster, err := newCluster(conf.FromMap(values), config.Default(), slog.New(slog.DiscardHandler))
	require.NoError(f.t, err)
	f.t.Cleanup(cluster.Close)
	return cluster
}

func (f *fakeYARN) submit(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refusal != "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"RemoteException":{"exception":"YarnException","javaClassName":"org.apache.hadoop.yarn.exceptions.YarnException","message":%q}}`, f.refusal)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &f.submitted) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
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
	if f.killed != "" && id == fakeID {
		now = map[string]any{"state": "KILLED", "finalStatus": "KILLED", "diagnostics": "Application " + fakeID + " was killed by user ann with diagnostic message: " + f.killed}
	}
	app := map[string]any{"id": id, "name": "app", "user": "ann", "queue": "default", "trackingUrl": "http://rm/proxy/" + fakeID + "/"}
	for key, value := range now {
		app[key] = value
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"app": app})
}

func (f *fakeYARN) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r.URL.Query())
	listed := f.listed
	if f.submitted != nil {
		listed = f.listedAfter
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"apps": map[string]any{"app": listed}})
}

func (f *fakeYARN) kill(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var request struct{ State, Diagnostics string }
	if json.NewDecoder(r.Body).Decode(&request) != nil || request.State != "KILLED" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.killed = request.Diagnostics
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprint(w, `{"state":"KILLED"}`)
}

func (f *fakeYARN) status(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.statuses) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	fmt.Fprint(w, f.statuses[0])
	if len(f.statuses) > 1 {
		f.statuses = f.statuses[1:]
	}
}

// bench contains what a submission needs: a cluster, a program, a staging directory and a console.
type bench struct {
	cluster *Cluster
	job     Job
	staging string
	output  *bytes.Buffer
}

func newBench(t *testing.T, f *fakeYARN, settings map[string]string) *bench {
	t.Helper()
	program := filepath.Join(t.TempDir(), "wordcount")
	require.NoError(t, os.WriteFile(program, bobbinProgram("content"), 0o700))
	b := &bench{cluster: f.cluster(nil), staging: t.TempDir(), output: &bytes.Buffer{}}
	values := map[string]string{"yarn.stagingDir": "file://" + b.staging, "yarn.report.interval": "2ms"}
	for key, value := range settings {
		values[key] = value
	}
	loaded, err := config.Load(config.Sources{Flags: values})
	require.NoError(t, err)
	b.job = Job{Program: program, Args: []string{"in", "out dir"}, Settings: loaded, Console: NewConsole(b.output)}
	return b
}

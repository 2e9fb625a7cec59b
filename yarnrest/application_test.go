package yarnrest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

const (
	appID     = "application_1700000000000_0001"
	attemptID = "appattempt_1700000000000_0001_000001"

	// appAnswer repeats the key "entry" in an object, as Hadoop 3.4 does when it writes a
	// map.
	appAnswer = `{"id":"application_1700000000000_0001","user":"ann","name":"count é","queue":"root.default","state":"FINISHED","finalStatus":"SUCCEEDED","progress":100.0,
		"trackingUI":"History","trackingUrl":"http://rm:8088/proxy/application_1700000000000_0001/","diagnostics":"done","clusterId":1,"applicationType":"BOBBIN","applicationTags":"a,b",
		"priority":0,"startedTime":1700000001000,"launchTime":1700000002000,"finishedTime":1700000003000,"elapsedTime":2000,"amContainerLogs":"http://n1:8042/node/containerlogs/c/ann",
		"amHostHttpAddress":"n1:8042","amRPCAddress":"n1:4000","allocatedMB":-1,"allocatedVCores":-1,"runningContainers":-1,"memorySeconds":369,"vcoreSeconds":2,
		"resourceSecondsMap":{"entry":{"key":"memory-mb","value":"0"},"entry":{"key":"vcores","value":"0"}},"logAggregationStatus":"DISABLED","unmanagedApplication":false}`
)

var wantApp = Application{
	ID: appID, User: "ann", Name: "count é", Queue: "root.default", Type: "BOBBIN", Tags: []string{"a", "b"}, State: StateFinished, FinalStatus: StatusSucceeded, Progress: 100,
	TrackingUI: "History", TrackingURL: "http://rm:8088/proxy/" + appID + "/", Diagnostics: "done",
	Started: time.UnixMilli(1700000001000), Launched: time.UnixMilli(1700000002000), Finished: time.UnixMilli(1700000003000), Elapsed: 2 * time.Second,
	AMContainerLogs: "http://n1:8042/node/containerlogs/c/ann", AMHostHTTPAddress: "n1:8042", AMRPCAddress: "n1:4000",
	AllocatedMB: -1, AllocatedVCores: -1, RunningContainers: -1, MemorySeconds: 369, VCoreSeconds: 2, LogAggregationStatus: "DISABLED",
}

func TestApplication(t *testing.T) {
	s := serve(t, routes{"GET /ws/v1/cluster/apps/" + appID: `{"app":` + appAnswer + `}`, "GET /ws/v1/cluster/apps/x": `{"app":{"id":"x"}}`})
	c := client(t, Options{}, s.URL)
	got, err := c.Application(context.Background(), appID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantApp, *got); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Application(context.Background(), "x"); err == nil || !strings.Contains(err.Error(), "state") {
		t.Errorf("an application without a state: %v", err)
	}
}

func TestApplications(t *testing.T) {
	var query url.Values
	body := `{"apps":{"app":[` + appAnswer + `,{"id":"application_1700000000000_0002","name":"other"}]}}`
	s := serve(t, routes{"GET /ws/v1/cluster/apps": func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Query()
		io.WriteString(w, body)
	}})
	c := client(t, Options{User: "ann"}, s.URL)
	got, err := c.Applications(context.Background(), Filter{
		States: []ApplicationState{StateRunning, StateFinished}, FinalStatus: StatusSucceeded, User: "ann", Queue: "default", Types: []string{"BOBBIN"}, Tags: []string{"a", "b"},
		Name: "count é", StartedAfter: time.UnixMilli(5), StartedBefore: time.UnixMilli(6), Limit: 7,
	})
	if diff := cmp.Diff([]Application{wantApp}, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	want := url.Values{
		"states": {"RUNNING,FINISHED"}, "finalStatus": {"SUCCEEDED"}, "user": {"ann"}, "queue": {"default"}, "applicationTypes": {"BOBBIN"}, "applicationTags": {"a,b"},
		"name": {"count é"}, "startedTimeBegin": {"5"}, "startedTimeEnd": {"6"}, "limit": {"7"}, "deSelects": {"resourceRequests", "timeouts"}, "user.name": {"ann"},
	}
	if diff := cmp.Diff(want, query); diff != "" {
		t.Error(diff)
	}
	if got, err = c.Applications(context.Background(), Filter{}); len(got) != 2 || err != nil {
		t.Errorf("%d applications, %v", len(got), err)
	}
	for _, empty := range []string{`{"apps":{}}`, `{"apps":null}`, `{"apps":""}`, `{}`} {
		body = empty
		if got, err = c.Applications(context.Background(), Filter{}); len(got) != 0 || err != nil {
			t.Errorf("%s: %v, %v", empty, got, err)
		}
	}
}

func TestState(t *testing.T) {
	s := serve(t, routes{"GET /ws/v1/cluster/apps/" + appID + "/state": `{"state":"FINAL_SAVING"}`, "GET /ws/v1/cluster/apps/x/state": `{}`})
	c := client(t, Options{}, s.URL)
	if got, err := c.State(context.Background(), appID); got != "FINAL_SAVING" || got.Ended() || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := c.State(context.Background(), "x"); err == nil {
		t.Error("no error without a state")
	}
	for state, ended := range map[ApplicationState]bool{StateRunning: false, StateFinished: true, StateFailed: true, StateKilled: true} {
		if state.Ended() != ended {
			t.Errorf("%s.Ended() = %v", state, state.Ended())
		}
	}
}

func TestKill(t *testing.T) {
	for name, code := range map[string]int{"accepted": 202, "done": 200} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, routes{"PUT /ws/v1/cluster/apps/" + appID + "/state": func(w http.ResponseWriter, r *http.Request) {
				var body map[string]string
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(map[string]string{"state": "KILLED", "diagnostics": "enough"}, body); diff != "" {
					t.Error(diff)
				}
				if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-XSRF-Header") == "" {
					t.Errorf("headers %v", r.Header)
				}
				status(code, `{"state":"RUNNING"}`)(w, r)
			}})
			if err := client(t, Options{}, s.URL).Kill(context.Background(), appID, "enough"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAttempts(t *testing.T) {
	body := `{"appAttempts":{"appAttempt":[{"id":1,"startTime":1700000001000,"finishedTime":0,"containerId":"container_1","nodeHttpAddress":"n1:8042","nodeId":"n1:45454",
		"logsLink":"http://n1:8042/l","blacklistedNodes":"","appAttemptId":"` + attemptID + `","exportPorts":"null","appAttemptState":"RUNNING"}]}}`
	s := serve(t, routes{"GET /ws/v1/cluster/apps/" + appID + "/appattempts": body})
	got, err := client(t, Options{}, s.URL).Attempts(context.Background(), appID)
	want := []ApplicationAttempt{{ID: attemptID, Number: 1, State: "RUNNING", Started: time.UnixMilli(1700000001000), ContainerID: "container_1", NodeID: "n1:45454", NodeHTTPAddress: "n1:8042", LogsLink: "http://n1:8042/l"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}

func TestContainers(t *testing.T) {
	// In this response, every version of Hadoop writes a single container as an object instead
	// of a list, and numbers as strings.
	one := `{"containerId":"container_1","allocatedMB":"128","allocatedVCores":"1","assignedNodeId":"n1:45454","priority":"0","startedTime":"1700000001000","finishedTime":"0","elapsedTime":"5",
		"logUrl":"http://n1:8042/l","containerExitStatus":"0","containerState":"RUNNING","nodeHttpAddress":"http://n1:8042","nodeId":"n1:45454"}`
	want := Container{ID: "container_1", State: "RUNNING", AllocatedMB: 128, AllocatedVCores: 1, Started: time.UnixMilli(1700000001000), NodeID: "n1:45454", NodeHTTPAddress: "n1:8042", LogURL: "http://n1:8042/l"}
	for body, n := range map[string]int{`{"container":` + one + `}`: 1, `{"container":[` + one + `,` + one + `]}`: 2, `{}`: 0} {
		s := serve(t, routes{"GET /ws/v1/cluster/apps/" + appID + "/appattempts/" + attemptID + "/containers": body})
		got, err := client(t, Options{}, s.URL).Containers(context.Background(), appID, attemptID)
		if err != nil || len(got) != n {
			t.Fatalf("got %v, %v", got, err)
		}
		for _, c := range got {
			if diff := cmp.Diff(want, c); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestTrackingURLIsEmptyIfThereIsNone(t *testing.T) {
	for text, want := range map[string]string{"http://N/A": "", "N/A": "", "": "", "http://rm/proxy/x/": "http://rm/proxy/x/"} {
		if got := trackingURL(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestSetLifetime(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	sent := ""
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws/v1/cluster/apps/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != appID {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, `{"app":{"id":"`+appID+`","state":"RUNNING","startedTime":1767323045678}}`)
	})
	mux.HandleFunc("PUT /ws/v1/cluster/apps/"+appID+"/timeout", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c := client(t, Options{}, s.URL)
	require.NoError(t, c.SetLifetime(context.Background(), appID, 90*time.Second))
	require.Contains(t, sent, `"type":"LIFETIME"`)
	expires := began.Add(90 * time.Second).Local().Format("2006-01-02T15:04:05.000-0700")
	require.Contains(t, sent, `"expiryTime":"`+expires+`"`, "by the ResourceManager's clock")

	err := c.SetLifetime(context.Background(), "application_1_0009", time.Second)
	require.True(t, errors.Is(err, ErrNotFound), err)
}

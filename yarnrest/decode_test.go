package yarnrest

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestNumbers(t *testing.T) {
	for in, want := range map[string]int64{
		`1`: 1, `"2"`: 2, `" 3 "`: 3, `4.9`: 4, `"1e3"`: 1000, `true`: 0, `null`: 0, `"x"`: 0, `{}`: 0, `[]`: 0, `"NaN"`: 0, `"Infinity"`: 0,
		`9223372036854775807`: math.MaxInt64, `1e30`: math.MaxInt64, `-1e30`: math.MinInt64,
	} {
		n, err := parseJSON([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := n.int64(); got != want {
			t.Errorf("%s = %d, want %d", in, got, want)
		}
	}
}

// FuzzAnswers replies to every call with arbitrary bytes. No call may panic, and results
// without an error must have the fields that callers rely on, such as an id.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		metricsAnswer, `{"app":` + appAnswer + `}`, `{"apps":{"app":[` + appAnswer + `]}}`, `{"application-id":"application_1_1"}`, `{"state":"RUNNING"}`,
		`{"nodes":{"node":{"id":"a:1"}}}`, `{"clusterInfo":{"haState":"ACTIVE"}}`, `{"RemoteException":{"exception":"x","message":"m"}}`,
		`{"scheduler":{"schedulerInfo":{"queueName":"root","queues":{"queue":[{"queueName":"a","queues":{"queue":{}}}]}}}}`,
		`{"appAttempts":{"appAttempt":[{"id":"1"}]}}`, `{"container":{"id":"c"}}`, `[{"containerLogsInfo":{"containerLogInfo":{"fileName":1}}}]`, logAnswer("x", 1), "<html>", "",
	} {
		for _, code := range []int{200, 307, 404, 503} {
			f.Add(code, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, code int, body []byte) {
		if code < 200 || code > 599 {
			t.Skip()
		}
		c := client(t, Options{HTTP: &http.Client{Transport: canned{code, body}}}, "rm:1")
		ctx := context.Background()
		if app, err := c.Application(ctx, "a"); err == nil && (app.ID == "" || app.State == "") {
			t.Errorf("an application without id or state")
		}
		if app, err := c.NewApplication(ctx); err == nil && app.ID == "" {
			t.Errorf("no id")
		}
		if state, err := c.State(ctx, "a"); err == nil && state == "" {
			t.Errorf("no state")
		}
		apps, err := c.Applications(ctx, Filter{})
		for _, app := range apps {
			if err != nil || app.ID == "" {
				t.Errorf("%v, %v", app, err)
			}
		}
		_, _ = c.ClusterInfo(ctx)
		_, _ = c.Metrics(ctx)
		_, _ = c.Scheduler(ctx)
		_, _ = c.Nodes(ctx)
		_, _ = c.Attempts(ctx, "a")
		_, _ = c.Containers(ctx, "a", "b")
		_, _ = c.Proxy(ctx, "a", "b")
		_ = c.Kill(ctx, "a", "")
		n, err := c.NodeManager("nm:1")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = n.Containers(ctx)
		_, _ = n.Container(ctx, "c")
		_, _ = n.ContainerLogs(ctx, "c")
		if log, err := n.OpenLog(ctx, "c", "f", 0); err == nil {
			_ = log.Close()
		}
	})
}

// canned is an http.RoundTripper that gives the same reply to every request.
type canned struct {
	code int
	body []byte
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.WriteHeader(c.code)
	_, _ = w.Write(c.body)
	return w.Result(), nil
}

func TestSubmissionContextIsStable(t *testing.T) {
	s := &SubmissionContext{AM: ContainerSpec{Environment: map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}}}
	first, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if again, _ := json.Marshal(s); string(again) != string(first) {
			t.Fatalf("%s\n%s", first, again)
		}
	}
}

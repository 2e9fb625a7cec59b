package yarnrest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	containerID = "container_1700000000000_0001_01_000001"
	logPath     = "GET /ws/v1/node/containerlogs/" + containerID + "/stdout"
)

// node0 returns a client of a NodeManager that replies according to routes.
func node0(t *testing.T, r routes) *NodeManager {
	t.Helper()
	s := serve(t, r)
	n, err := client(t, Options{User: "ann"}, "rm:8088").NodeManager(strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNodeContainers(t *testing.T) {
	one := `{"id":"` + containerID + `","state":"RUNNING","exitCode":-1000,"diagnostics":"d","user":"ann","totalMemoryNeededMB":128,"totalVCoresNeeded":1,"executionType":"GUARANTEED",
		"containerLogsLink":"x","nodeId":"n1:45454","containerLogFiles":["stderr","stdout"]}`
	want := NodeContainer{ID: containerID, State: "RUNNING", ExitCode: -1000, Diagnostics: "d", User: "ann", MemoryMB: 128, VCores: 1, NodeID: "n1:45454", LogFiles: []string{"stderr", "stdout"}}
	n := node0(t, routes{
		"GET /ws/v1/node/containers":                `{"containers":{"container":[` + one + `]}}`,
		"GET /ws/v1/node/containers/" + containerID: `{"container":` + one + `}`,
		"GET /ws/v1/node/containers/gone":           remote(404, "NotFoundException", "container with id, gone, not found"),
		"GET /ws/v1/node/containers/odd":            `{}`,
	})
	list, err := n.Containers(context.Background())
	if diff := cmp.Diff([]NodeContainer{want}, list); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	single, err := n.Container(context.Background(), containerID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, *single); diff != "" {
		t.Error(diff)
	}
	if _, err := n.Container(context.Background(), "gone"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := n.Container(context.Background(), "odd"); err == nil {
		t.Error("no error for an answer without a container")
	}
	if got, err := node0(t, routes{"GET /ws/v1/node/containers": `{"containers":{}}`}).Containers(context.Background()); len(got) != 0 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestContainerLogs(t *testing.T) {
	local := `{"containerLogInfo":[{"fileName":"stderr","fileSize":"0","lastModifiedTime":"Sat Nov 21 12:09:50 +0000 2026"},{"fileName":"stdout","fileSize":"22","lastModifiedTime":"yesterday"}],
		"logAggregationType":"LOCAL","containerId":"c","nodeId":"n1:45454"}`
	aggregated := `{"containerLogInfo":{"fileName":"stdout","fileSize":"7"},"logAggregationType":"AGGREGATED"}`
	stderr := LogFile{Name: "stderr", Modified: time.Date(2026, 11, 21, 12, 9, 50, 0, time.UTC)}
	stdout, old := LogFile{Name: "stdout", Size: 22}, LogFile{Name: "stdout", Size: 7, Aggregated: true}
	for name, test := range map[string]struct {
		body string
		want []LogFile
	}{
		"local":           {`{"containerLogsInfo":` + local + `}`, []LogFile{stderr, stdout}},
		"both, one list":  {`{"containerLogsInfo":[` + local + `,` + aggregated + `]}`, []LogFile{stderr, stdout, old}},
		"both, two roots": {`[{"containerLogsInfo":` + local + `},{"containerLogsInfo":` + aggregated + `}]`, []LogFile{stderr, stdout, old}},
		"none":            {`{"containerLogsInfo":{"logAggregationType":"LOCAL"}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := node0(t, routes{"GET /ws/v1/node/containers/" + containerID + "/logs": test.body}).ContainerLogs(context.Background(), containerID)
			equalTimes := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })
			if diff := cmp.Diff(test.want, got, equalTimes); diff != "" || err != nil {
				t.Errorf("%s %v", diff, err)
			}
		})
	}
}

// logAnswer returns a log in the format that the NodeManager sends.
func logAnswer(content string, size int) string {
	header := ""
	if content != "" {
		header = "Container: " + containerID + " on n1_45454\nLogAggregationType: LOCAL\n=====\nLogType:stdout\n" +
			"LogLastModifiedTime:Sat Nov 21 12:09:50 +0000 2026\n" + fmt.Sprintf("LogLength:%d\n", size) + "LogContents:\n"
	}
	return header + content + "End of LogType:stdout.This log file belongs to a running container (" + containerID + ") and so may not be complete.\n*****\n\n"
}

func TestOpenLog(t *testing.T) {
	long := strings.Repeat("line of a log\n", 100000)
	for name, test := range map[string]struct {
		content string
		tail    int64
		want    string
		offset  int64
	}{
		"whole":               {content: "hello\nEnd of LogType:no\n", want: "hello\nEnd of LogType:no\n"},
		"no line end":         {content: "hello", want: "hello"},
		"empty":               {content: ""},
		"tail":                {content: "hello world", tail: 5, want: "world", offset: 6},
		"a tail of all of it": {content: "hello", tail: 50, want: "hello"},
		"a tail of nothing":   {content: "", tail: 5},
		"long":                {content: long, want: long},
	} {
		t.Run(name, func(t *testing.T) {
			n := node0(t, routes{logPath: func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Accept"); got != "text/plain" {
					t.Errorf("Accept: %s", got)
				}
				content := test.content
				var tail int
				if size := r.URL.Query().Get("size"); size != "" {
					fmt.Sscanf(size, "-%d", &tail)
					content = content[max(0, len(content)-tail):]
				}
				if int64(tail) != test.tail {
					t.Errorf("asked for %d bytes", tail)
				}
				io.WriteString(w, logAnswer(content, len(test.content)))
			}})
			log, err := n.OpenLog(context.Background(), containerID, "stdout", test.tail)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(log)
			if err := errors.Join(err, log.Close()); err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want || log.Offset != test.offset || log.Size != int64(len(test.content)) {
				t.Errorf("got %d bytes, offset %d, size %d", len(got), log.Offset, log.Size)
			}
		})
	}
}

func TestMalformedLogs(t *testing.T) {
	for name, test := range map[string]struct {
		answer any
		want   string
	}{
		"no header":     {status(200, "just text\n"), "header"},
		"nothing":       {status(200, ""), "header ends early"},
		"no length":     {status(200, "Container: x\nLogContents:\nabc"), "no LogLength"},
		"odd length":    {status(200, "LogLength:-4\nLogContents:\nabc"), "LogLength:-4"},
		"a long line":   {status(200, strings.Repeat("x", 1<<20)), "header"},
		"many lines":    {status(200, strings.Repeat("x\n", 1000)), "no header"},
		"gone":          {status(404, "java.lang.Exception: Cannot find this log on the local disk."), "Cannot find this log"},
		"redirect loop": {redirect("/ws/v1/node/containerlogs/" + containerID + "/stdout"), "more than 3 times"},
		"odd redirect":  {redirect("ftp://h/x"), "ftp://h/x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := node0(t, routes{logPath: test.answer}).OpenLog(context.Background(), containerID, "stdout", 0)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if errors.Is(err, ErrNotFound) != (name == "gone") {
				t.Errorf("not found: %v", err)
			}
		})
	}
}

func TestALogWhoseConnectionBreaks(t *testing.T) {
	n := node0(t, routes{logPath: status(200, "LogLength:100\nLogContents:\nabc")})
	log, err := n.OpenLog(context.Background(), containerID, "stdout", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	got, err := io.ReadAll(log)
	if string(got) != "abc" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestReadingALogTimesOut reads from a node that sends nothing, or that stops in the middle of
// a log.
func TestReadingALogTimesOut(t *testing.T) {
	for _, begins := range []bool{false, true} {
		t.Run(fmt.Sprintf("begins %v", begins), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if begins {
					fmt.Fprint(w, "LogLength:1000\nLogContents:\nbegun")
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			}))
			defer server.Close()
			c, err := New(Options{Addresses: []string{server.URL}, RequestTimeout: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdleConnections()
			manager, err := c.NodeManager(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			log, err := manager.OpenLog(t.Context(), containerID, "stdout", 0)
			var unavailable *UnavailableError
			for begins && errors.As(err, &unavailable) { // on a busy machine, the response may begin after the timeout
				log, err = manager.OpenLog(t.Context(), containerID, "stdout", 0)
			}
			if !begins {
				if !errors.As(err, &unavailable) || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), server.URL+": nothing came for 50ms") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(log)
			if string(text) != "begun" || err == nil || !strings.Contains(err.Error(), "nothing came for 50ms") {
				t.Errorf("got %q, %v", text, err)
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLogsOfALogServer(t *testing.T) {
	server := serve(t, routes{"GET /ws/v1/history/containers/c/logs/stdout": func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("redirected_from_node") != "true" || q.Get("user.name") != "ann" {
			t.Errorf("query %v", q)
		}
		io.WriteString(w, logAnswer("old", 3))
	}})
	n := node0(t, routes{logPath: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, server.URL+"/ws/v1/history/containers/c/logs/stdout?redirected_from_node=true", http.StatusTemporaryRedirect)
	}})
	log, err := n.OpenLog(context.Background(), containerID, "stdout", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if got, err := io.ReadAll(log); string(got) != "old" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAnUnreachableNodeManager(t *testing.T) {
	n, err := client(t, Options{}, "rm:8088").NodeManager(refused(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Containers(context.Background())
	var unavailable *UnavailableError
	if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "NodeManager") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
	if _, err := client(t, Options{}, "rm:8088").NodeManager(""); err == nil {
		t.Error("an empty address was taken")
	}
}

func TestProxy(t *testing.T) {
	info := `{"clusterInfo":{"haState":"ACTIVE"}}`
	s := serve(t, routes{
		"GET /ws/v1/cluster/info":            info,
		"GET /proxy/" + appID + "/status":    `{"tasks":3}`,
		"GET /proxy/" + appID + "/elsewhere": redirect("http://rm:8088/cluster/app/" + appID),
		"GET /proxy/" + appID + "/none":      status(404, `{"message":"Not Found","status":"404"}`),
	})
	c := client(t, Options{}, s.URL)
	for _, path := range []string{"/status", "status"} {
		if got, err := c.Proxy(context.Background(), appID, path); string(got) != `{"tasks":3}` || err != nil {
			t.Errorf("got %s, %v", got, err)
		}
	}
	if _, err := c.Proxy(context.Background(), appID, "elsewhere"); err == nil || !strings.Contains(err.Error(), "/cluster/app/") {
		t.Errorf("got %v", err)
	}
	if _, err := c.Proxy(context.Background(), appID, "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	own := client(t, Options{WebProxy: s.URL}, "rm.invalid:1")
	if _, err := own.Proxy(context.Background(), appID, "status"); err != nil {
		t.Errorf("through a proxy of its own: %v", err)
	}
	if _, err := client(t, Options{}, refused(t)).Proxy(context.Background(), appID, "status"); err == nil {
		t.Error("no error without a ResourceManager")
	}
}

func FuzzLogHeader(f *testing.F) {
	f.Add(logAnswer("hello", 5))
	f.Add(logAnswer("", 0))
	f.Add("LogLength:9999999999999999999\nLogContents:\n")
	f.Fuzz(func(t *testing.T, s string) {
		if size, err := readLogHeader(bufio.NewReader(strings.NewReader(s))); err == nil && size < 0 {
			t.Errorf("size %d", size)
		}
	})
}

func TestHasApplication(t *testing.T) {
	s := serve(t, routes{
		"GET /ws/v1/node/apps/" + appID: `{"app":{"id":"` + appID + `","state":"APPLICATION_RESOURCES_CLEANINGUP"}}`,
		"GET /ws/v1/node/apps/gone": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"RemoteException":{"exception":"NotFoundException","message":"java.lang.Exception: app with id gone not found","javaClassName":"org.apache.hadoop.yarn.webapp.NotFoundException"}}`)
		},
		"GET /ws/v1/node/apps/broken": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	})
	manager, err := client(t, Options{}, s.URL).NodeManager(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{appID: true, "gone": false} {
		if has, err := manager.HasApplication(context.Background(), id); has != want || err != nil {
			t.Errorf("%s: got %v, %v", id, has, err)
		}
	}
	if _, err := manager.HasApplication(context.Background(), "broken"); err == nil {
		t.Error("no error of a node that fails")
	}
}

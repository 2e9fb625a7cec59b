package client

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/logs"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/standalone/application"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

func TestADriversSettingsNameTheFilesInItsDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"program": 0o700, "table.csv": 0o600, "script.sh": 0o700, "data.tar.gz": 0o600} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name), mode))
	}
	settings, err := config.FromMap(map[string]string{
		"master": "bobbin://h", "submit.deployMode": "cluster", "authenticate.secret": "0123456789abcdef",
		config.Files.Name():    filepath.Join(dir, "table.csv") + "," + filepath.Join(dir, "script.sh") + "#run",
		config.Archives.Name(): filepath.Join(dir, "data.tar.gz") + "#data", "scheduler.mode": "FAIR", "scheduler.allocation.file": "/p.xml",
		"executor.memory": "2g",
	})
	require.NoError(t, err)
	program := &client.Program{Path: filepath.Join(dir, "program"), Name: "program"}
	named, err := client.LocalFiles(program.Path, settings)
	require.NoError(t, err)
	local, properties := toDriver(program, named, settings)
	require.Equal(t, []application.LocalFile{
		{Path: filepath.Join(dir, "program"), Name: "program", Executable: true},
		{Path: filepath.Join(dir, "table.csv"), Name: "table.csv"},
		{Path: filepath.Join(dir, "script.sh"), Name: "run", Executable: true},
		{Path: filepath.Join(dir, "data.tar.gz"), Name: "data", Archive: true},
		{Path: filepath.Join(dir, "data.tar.gz"), Name: ".archive-data-data.tar.gz"},
		{Path: "/p.xml", Name: ".pools.xml"},
	}, local)
	require.Equal(t, map[string]string{
		config.Files.Name(): "table.csv,run", config.Archives.Name(): ".archive-data-data.tar.gz#data",
		"scheduler.mode": "FAIR", "scheduler.allocation.file": ".pools.xml", "executor.memory": "2g",
	}, properties, "no master and no credentials")

	remote, err := settings.With(map[string]string{config.Files.Name(): "hdfs:///x"})
	require.NoError(t, err)
	_, err = client.LocalFiles(program.Path, remote)
	require.ErrorContains(t, err, "hdfs:///x: only files of this machine")
}

func TestReportsOfDriversAndApplications(t *testing.T) {
	for state, want := range map[protocol.DriverState]string{
		protocol.DriverState_DRIVER_SUBMITTED: "UNDEFINED", protocol.DriverState_DRIVER_RUNNING: "UNDEFINED",
		protocol.DriverState_DRIVER_RELAUNCHING: "UNDEFINED", protocol.DriverState_DRIVER_FINISHED: "SUCCEEDED",
		protocol.DriverState_DRIVER_FAILED: "FAILED", protocol.DriverState_DRIVER_ERROR: "FAILED", protocol.DriverState_DRIVER_KILLED: "KILLED",
	} {
		require.Equal(t, want, driverReport(&protocol.DriverReply{State: state}, "").FinalStatus, state)
	}
	a := &cluster.ApplicationStatus{
		ID: "app-1", State: "RUNNING", WaitReason: "no worker has 9 cores",
		Executors: []cluster.ExecutorStatus{{Registered: true}, {}, {Registered: true, State: cluster.WorkerDecommissioning}},
		Wanted:    []cluster.RequestedExecutors{{Total: 5}},
	}
	report := applicationReport(a)
	require.Equal(t, "UNDEFINED", report.FinalStatus)
	require.Equal(t, client.ExecutorCounts{Requested: 5, Pending: 2, Launching: 1, Running: 2, Decommissioning: 1}, report.Progress.Executors)
	require.Equal(t, []string{"no worker has 9 cores"}, report.Progress.Notes)
	a.Wanted[0].Total = protocol.Unlimited
	require.Equal(t, 3, applicationReport(a).Progress.Executors.Requested)
	for state, want := range map[cluster.ApplicationState]string{"FINISHED": "SUCCEEDED", "FAILED": "FAILED", "KILLED": "KILLED"} {
		report := applicationReport(&cluster.ApplicationStatus{State: state, Ended: time.Unix(1, 0)})
		require.Equal(t, want, report.FinalStatus)
		require.Nil(t, report.Progress)
	}
}

func TestIDsOfDriversAndApplications(t *testing.T) {
	driver, err := isDriver("driver-1")
	require.NoError(t, err)
	require.True(t, driver)
	driver, err = isDriver("app-1")
	require.NoError(t, err)
	require.False(t, driver)
	_, err = isDriver("application_1_0001")
	require.Equal(t, client.ExitUsage, client.ExitCode(err))
}

func TestUnknownDrivers(t *testing.T) {
	_, s := startFakeMaster(t)
	console := client.NewConsole(io.Discard)
	_, statusErr := s.Status(t.Context(), "driver-9")
	_, killErr := s.Kill(t.Context(), "driver-9")
	for call, err := range map[string]error{
		"status": statusErr, "kill": killErr, "logs": s.Logs(t.Context(), "driver-9", logs.Selection{}, console, nil),
		"follow": s.FollowLogs(t.Context(), "driver-9", logs.Selection{}, console, nil),
	} {
		require.ErrorContains(t, err, "the cluster does not know driver-9", call)
		require.Equal(t, client.ExitCluster, client.ExitCode(err), call)
	}
}

func TestADriverIsFollowedWithItsPagesAndItsSummary(t *testing.T) {
	const driver = "driver-1"
	m, s := startFakeMaster(t)
	runs := &protocol.DriverReply{DriverId: driver, State: protocol.DriverState_DRIVER_RUNNING, LogUrl: "http://a1:8081/logs/driver-1/1", ApplicationId: "app-1"}
	serves := proto.CloneOf(runs)
	serves.WebUrl = "http://a1:4040/secret/"
	ends := proto.CloneOf(runs)
	ends.State, ends.Summary = protocol.DriverState_DRIVER_FINISHED, `tasks=3 task_sets=1 costs="waiting for executors 2.1 s"`
	m.replies = []*protocol.DriverReply{runs, serves, ends}
	var shown strings.Builder
	report, err := s.Wait(t.Context(), driver, client.WaitOptions{Console: client.NewConsole(&shown)})
	require.NoError(t, err)
	require.Regexp(t, `^driver-1 RUNNING
pages: http://a1:4040/secret/
driver-1 SUCCEEDED.*
  tasks      3 in 1 task set
  cost most  waiting for executors 2.1 s
  times .*
  tracking   http://a1:8081/logs/driver-1/1
$`, shown.String())
	require.EqualValues(t, 3, report.Summary["tasks"])
	require.Equal(t, "app-1", report.RunsApplication)

	m.replies = []*protocol.DriverReply{serves, ends}
	report, err = s.Status(t.Context(), driver)
	require.NoError(t, err)
	require.Equal(t, "http://a1:4040/secret/", report.TrackingURL)
	report, err = s.Status(t.Context(), driver)
	require.NoError(t, err)
	require.Equal(t, "http://a1:8081/logs/driver-1/1", report.TrackingURL)
	require.Contains(t, report.Diagnostics, "summary: tasks=3")
}

// workerPage serves the stderr of a driver, as a worker does.
func workerPage(t *testing.T, stderr string) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /logs/driver-1/1", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"files": [{"name": "stderr", "size": %d}, {"name": "stdout", "size": 0}]}`, len(stderr))
	})
	mux.HandleFunc("GET /logs/driver-1/1/stderr", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "stderr", time.Time{}, strings.NewReader(stderr))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/logs/driver-1/1"
}

func TestAFailedDriversMessageIsItsLastLineOfStderr(t *testing.T) {
	s := &Cluster{log: slog.New(slog.DiscardHandler)}
	page := workerPage(t, strings.Repeat("a line of its log\n", 1000)+"count: no such \xff file\n\n")
	report := &client.Report{ApplicationID: "driver-1", Name: "count", TrackingURL: page, Message: "exited with status 1"}
	s.addDriverError(t.Context(), report)
	require.Equal(t, "no such \uFFFD file", report.Message)
	report = &client.Report{ApplicationID: "driver-1", TrackingURL: page + "/none", Message: "exited with status 1"}
	s.addDriverError(t.Context(), report)
	require.Equal(t, "exited with status 1", report.Message)
}

func TestLogsWithTailPassOnTheLastLines(t *testing.T) {
	long := strings.Repeat("long", 1000)
	for _, test := range []struct {
		log  string
		tail int
		want string
	}{
		{long + "\none\ntwo\nthree\n", 1, "three\n"},
		{long + "\none\ntwo\nthree\n", 2, "two\nthree\n"},
		{"one\n" + long, 1, long},
		{"one\n" + long + "\n" + long + "\n", 2, long + "\n" + long + "\n"},
		{"", 2, ""},
	} {
		process := processLogs{container: "driver-1", executor: logs.Driver, url: workerPage(t, test.log)}
		files, err := logFiles(t.Context(), process)
		require.NoError(t, err)
		require.NoError(t, writeWorkerLog(t.Context(), process, files[0], test.tail, func(file logs.File, content io.Reader) error {
			text, err := io.ReadAll(content)
			require.Equal(t, test.want, string(text))
			require.Equal(t, "driver", file.Executor)
			return err
		}))
	}
}

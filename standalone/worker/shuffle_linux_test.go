package worker

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/shuffle"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// fetchFrom fetches partition 0 of a map output from a worker.
func fetchFrom(t *testing.T, s *testStream, application, pass, mapID string) (string, error) {
	client := shufflehandler.NewClient(shufflehandler.Options{
		Application: application, Password: shuffle.ServicePassword([]byte(pass)), Timeout: timeout,
	})
	for section, err := range client.Fetch(t.Context(), strings.TrimPrefix(s.hello.GetWebUrl(), "http://"), 0, []string{mapID}) {
		if err != nil {
			return "", err
		}
		content, err := io.ReadAll(section)
		return string(content), err
	}
	return "", nil
}

func TestMapOutputsOutliveTheirExecutors(t *testing.T) {
	m := startMaster(t)
	w := startWorker(t, nil, m)
	s := m.attached()
	launches := map[string]*protocol.LaunchExecutor{}
	for id, application := range []string{"app-1", "app-2", "app-off"} {
		launches[application] = m.launchOf(uint32(id), "environment")
		launches[application].ApplicationId = application
		launches[application].Command.Environment = map[string]string{launch.EnvShuffleService: "auto"}
		launches[application].Command.Pass = []byte("the pass of " + application)
	}
	launches["app-off"].Command.Environment = nil
	for _, launch := range launches {
		s.order(launchOrder(launch))
		s.executor(launch.GetExecutorId(), protocol.ExecutorState_EXECUTOR_EXITED)
	}
	environment := func(application string) (entries []string) {
		name := strconv.FormatUint(uint64(launches[application].GetExecutorId()), 10)
		require.NoError(t, json.Unmarshal([]byte(w.file(application, name, "logs", "stdout")), &entries))
		return entries
	}
	for _, application := range []string{"app-1", "app-2"} {
		directory := filepath.Join(w.directory, application, "shuffle")
		require.Subset(t, environment(application), []string{
			launch.EnvApplication + "=" + application, launch.EnvShuffleService + "=auto", launch.EnvShuffleDirectory + "=" + directory,
			launch.EnvShuffleAddress + "=" + strings.TrimPrefix(s.hello.GetWebUrl(), "http://"),
		})
		info, err := os.Stat(directory)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
		output := shufflehandler.Directory(directory, "of-"+application)
		require.NoError(t, os.MkdirAll(output, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(output, shufflehandler.DataFile), []byte("records"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(output, shufflehandler.IndexFile), shufflehandler.AppendIndex(nil, []int64{0, 7}), 0o600))
	}
	require.NotContains(t, strings.Join(environment("app-off"), "\n"), launch.EnvShuffleDirectory)
	require.NoDirExists(t, filepath.Join(w.directory, "app-off", "shuffle"))

	for _, test := range []struct{ application, pass, output, problem string }{
		{"app-1", "the pass of app-1", "of-app-1", ""},
		{"app-2", "the pass of app-2", "of-app-2", ""},
		{"app-1", "the pass of app-2", "of-app-1", "status 401"},
		{"app-1", "the pass of app-1", "of-app-2", "status 500"},
		{"app-1", "the pass of app-1", "../../app-2/shuffle/output/of-app-2", "status 500"},
		{"app-off", "the pass of app-off", "of-app-1", "status 401"},
	} {
		content, err := fetchFrom(t, s, test.application, test.pass, test.output)
		if test.problem != "" {
			require.ErrorContains(t, err, test.problem, "%+v", test)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "records", content)
	}
	code, body := get(t, s.hello.GetWebUrl()+"/logs/app-1", nil)
	require.Equal(t, http.StatusOK, code)
	require.NotContains(t, body, "shuffle")

	s.order(&protocol.WorkerOrder{FinishedApplications: []string{"app-1"}})
	gone := func() bool {
		_, err := os.Stat(filepath.Join(w.directory, "app-1", "shuffle"))
		return os.IsNotExist(err)
	}
	require.Eventually(t, gone, timeout, time.Millisecond)
	_, err := fetchFrom(t, s, "app-1", "the pass of app-1", "of-app-1")
	require.ErrorContains(t, err, "status 401")
	content, err := fetchFrom(t, s, "app-2", "the pass of app-2", "of-app-2")
	require.NoError(t, err)
	require.Equal(t, "records", content)

	w.stop()
	require.NoError(t, w.end())
	require.NoDirExists(t, filepath.Join(w.directory, "app-2", "shuffle"), "nobody serves them any more")
	require.FileExists(t, filepath.Join(w.directory, "app-2", "1", "logs", "stdout"))
}

func TestAWorkerCanRefuseMapOutputs(t *testing.T) {
	m := startMaster(t)
	w := startWorker(t, map[string]string{"shuffle.service": "off"}, m)
	s := m.attached()
	order := m.launchOf(1, "environment")
	order.Command.Environment = map[string]string{launch.EnvShuffleService: "required"}
	s.order(launchOrder(order))
	s.executor(1, protocol.ExecutorState_EXECUTOR_EXITED)
	stdout := w.file(app, "1", "logs", "stdout")
	require.Contains(t, stdout, launch.EnvApplication+"="+app)
	require.Contains(t, stdout, launch.EnvShuffleService+"=required")
	require.NotContains(t, stdout, launch.EnvShuffleAddress)
	require.NoDirExists(t, filepath.Join(w.directory, app, "shuffle"))
}

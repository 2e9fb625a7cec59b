package worker

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const app = "app-1"

// launchOf returns the order to launch an executor with arguments for act.
func (m *testMaster) launchOf(id uint32, arguments ...string) *protocol.LaunchExecutor {
	return &protocol.LaunchExecutor{
		ApplicationId: app, ExecutorId: id, Cores: 2,
		Profile: &protocol.ExecutorProfile{Id: 3, Memory: 512 << 20, Overhead: 64 << 20, Cores: 2},
		Command: &protocol.ExecutorCommand{
			Program: m.program(), Arguments: arguments, Driver: "driver.example:4040", Pass: []byte("the pass"), User: "ann",
			Environment: map[string]string{"TEST_NOTES": os.Getenv("TEST_NOTES")},
		},
	}
}

func launchOrder(launches ...*protocol.LaunchExecutor) *protocol.WorkerOrder {
	return &protocol.WorkerOrder{LaunchExecutors: launches}
}

func killOrder(id uint32) *protocol.WorkerOrder {
	return &protocol.WorkerOrder{KillExecutors: []*protocol.KillExecutor{{ApplicationId: app, ExecutorId: id}}}
}

// notes returns a directory into which processes write their ids.
func notes(t *testing.T) string {
	directory := t.TempDir()
	t.Setenv("TEST_NOTES", directory)
	return directory
}

func TestTheHelloHasTheWorkersResources(t *testing.T) {
	m := startMaster(t)
	startWorker(t, map[string]string{"worker.resource.gpu.amount": "2", "worker.port": "7"}, m)
	hello := m.attached().hello
	require.Equal(t, uint32(protocol.Version), hello.GetVersion())
	require.Equal(t, "127.0.0.1", hello.GetHost())
	require.Equal(t, uint32(7), hello.GetPort())
	require.Equal(t, uint32(4), hello.GetCores())
	require.Equal(t, int64(2<<30), hello.GetMemory())
	require.Equal(t, []string{"0", "1"}, hello.GetResources()["gpu"].GetAddresses())
	require.Regexp(t, `^worker-\d{14}-127\.0\.0\.1-7-[0-9a-f]{6}$`, hello.GetWorkerId())
	require.Regexp(t, `^http://127\.0\.0\.1:\d+$`, hello.GetWebUrl())
	require.Empty(t, hello.GetExecutors())
	require.False(t, hello.GetDecommissioning())
}

func TestAnExecutorGetsItsEnvironmentFilesAndSecrets(t *testing.T) {
	t.Setenv("BOBBIN_AUTHENTICATE_SECRET", "the cluster's own secret, of the worker")
	t.Setenv("OF_THE_MACHINE", "here")
	m := startMaster(t)
	w := startWorker(t, nil, m)
	s := m.attached()
	order := m.launchOf(5, "environment")
	order.Resources = map[string]*protocol.Addresses{"gpu": {Addresses: []string{"3", "7"}}}
	order.Command.Environment = map[string]string{"WANTED": "{{OF_THE_MACHINE}} <LOG_DIR> $HOME", "GOMAXPROCS": "1"}
	order.Command.Files = []*protocol.File{m.keep("data/table.txt", []byte("content"))}
	s.order(launchOrder(order))
	report := s.executor(5, protocol.ExecutorState_EXECUTOR_EXITED)
	require.Zero(t, report.GetExitCode())
	require.Equal(t, uint32(3), report.GetProfile().GetId())

	var entries []string
	require.NoError(t, json.Unmarshal([]byte(w.file(app, "5", "logs", "stdout")), &entries))
	has := map[string]string{}
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		has[name] = value
	}
	home := filepath.Join(w.directory, app, "5")
	require.Subset(t, has, map[string]string{
		launch.EnvRole: "executor", launch.EnvDriver: "driver.example:4040", launch.EnvExecutorID: "5", launch.EnvHost: "127.0.0.1",
		launch.EnvCores: "2", launch.EnvProfile: "3", launch.EnvLogURL: report.GetLogUrl(), launch.EnvResources: `{"gpu":["3","7"]}`,
		"HADOOP_USER_NAME": "ann", "GOMAXPROCS": "1", "GOMEMLIMIT": "483183819", "OF_THE_MACHINE": "here",
		"WANTED": "here " + home + "/logs $HOME", "LOG_DIRS": home + "/logs", "PWD": home + "/work", "TMPDIR": home + "/tmp",
		security.TokenFileVariable: home + "/secret/credentials",
	})
	for name, value := range has {
		require.NotContains(t, name+value, "the pass")
		require.NotContains(t, name+value, "AUTHENTICATE")
	}
	require.Equal(t, "content", w.file(app, "5", "work", "data", "table.txt"))
	require.NoDirExists(t, home+"/tmp", "temporary files go with the executor")
	require.NoDirExists(t, home+"/secret", "secrets go with the executor")
}

func TestThePassIsInAPrivateFile(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	w := startWorker(t, nil, m)
	s := m.attached()
	s.order(launchOrder(m.launchOf(1, "wait")))
	s.executor(1, protocol.ExecutorState_EXECUTOR_RUNNING)
	handle(t, directory, "process")
	path := filepath.Join(w.directory, app, "1", "secret", "credentials")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	credentials, err := security.ReadCredentialsFile(path)
	require.NoError(t, err)
	pass, ok := credentials.Secret(launch.SecretDriver)
	require.True(t, ok)
	require.Equal(t, "the pass", string(pass))
}

func TestReportsOfExecutorEnds(t *testing.T) {
	m := startMaster(t)
	w := startWorker(t, nil, m)
	s := m.attached()
	lacking := m.launchOf(4, "exit", "0")
	lacking.Command.Program = &protocol.File{Name: "program", Sha256: make([]byte, 32), Executable: true}
	lying := m.launchOf(5, "exit", "0")
	lying.Command.Files = []*protocol.File{m.keep("file", []byte("what was said"))}
	m.mu.Lock()
	m.contents[string(lying.Command.Files[0].GetSha256())] = []byte("another content")
	m.mu.Unlock()
	outside := m.launchOf(6, "exit", "0")
	outside.Command.Files = []*protocol.File{m.keep("../file", []byte("content"))}
	noProgram := m.launchOf(7, "exit", "0")
	noProgram.Command.Program = m.keep("program", []byte("no program"))
	s.order(launchOrder(m.launchOf(1, "exit", "0"), m.launchOf(2, "exit", "53"), m.launchOf(3, "crash"), lying, outside, noProgram))

	found := map[uint32]*protocol.ExecutorReport{}
	s.await(func(message *protocol.WorkerMessage) bool {
		for _, report := range message.GetReport().GetExecutors() {
			if report.GetState().Ended() {
				found[report.GetExecutorId()] = report
			}
		}
		return len(found) == 6
	})
	for id, want := range map[uint32]struct {
		state protocol.ExecutorState
		code  int32
		text  string
	}{
		1: {protocol.ExecutorState_EXECUTOR_EXITED, 0, "exited with status 0"},
		2: {protocol.ExecutorState_EXECUTOR_EXITED, 53, "exited with status 53"},
		3: {protocol.ExecutorState_EXECUTOR_EXITED, -9, "was ended by signal 9 (killed)"},
		5: {protocol.ExecutorState_EXECUTOR_FAILED, 0, "file file: the master sent a content with SHA-256"},
		6: {protocol.ExecutorState_EXECUTOR_FAILED, 0, `file ../file: file name "../file": want one in the working directory`},
		7: {protocol.ExecutorState_EXECUTOR_FAILED, 0, "permission denied"},
	} {
		require.Equal(t, want.state, found[id].GetState(), id)
		require.Equal(t, want.code, found[id].GetExitCode(), id)
		require.Contains(t, found[id].GetText(), want.text, id)
	}
	require.Equal(t, []string{"1", "2", "3", "5", "6", "7"}, entriesOf(t, filepath.Join(w.directory, app)))

	// The launch waits for the executor's program, which no master has. The executor can be
	// killed meanwhile.
	s.order(launchOrder(lacking))
	s.executor(4, protocol.ExecutorState_EXECUTOR_LAUNCHING)
	s.order(killOrder(4))
	require.Equal(t, errKilled.Error(), s.executor(4, protocol.ExecutorState_EXECUTOR_KILLED).GetText())
}

func entriesOf(t *testing.T, directory string) []string {
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestKillingAnExecutorKillsItsProcesses(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	startWorker(t, map[string]string{"worker.killGrace": "50ms"}, m)
	s := m.attached()
	s.order(launchOrder(m.launchOf(1, "stubborn")))
	everyone := map[string]int{}
	for _, name := range []string{"process", "child", "group", "session"} {
		everyone[name], _ = handle(t, directory, name)
	}
	s.order(killOrder(1))
	s.executor(1, protocol.ExecutorState_EXECUTOR_KILLED)
	for name, pidfd := range everyone {
		require.True(t, hasEnded(t, pidfd, 0), "%s lives on", name)
	}
}

func TestProcessesOfAnExecutorEndWithIt(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	startWorker(t, map[string]string{"worker.killGrace": "50ms"}, m)
	s := m.attached()
	s.order(launchOrder(m.launchOf(1, "stubborn"), m.launchOf(10, "idle")))
	everyone := map[string]int{}
	for _, name := range []string{"child", "group", "session"} {
		everyone[name], _ = handle(t, directory, name)
	}
	_, pid := handle(t, directory, "process")
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Equal(t, int32(-9), s.executor(1, protocol.ExecutorState_EXECUTOR_EXITED).GetExitCode())
	for name, pidfd := range everyone {
		require.True(t, hasEnded(t, pidfd, 0), "%s lives on", name)
	}
	s.order(killOrder(10))
	s.executor(10, protocol.ExecutorState_EXECUTOR_KILLED) // killing executor 1 did not kill executor 10
}

func TestAnExecutorMayEndOnSIGTERM(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	startWorker(t, map[string]string{"worker.killGrace": "10m"}, m)
	s := m.attached()
	s.order(launchOrder(m.launchOf(1, "wait")))
	pidfd, _ := handle(t, directory, "process")
	s.order(killOrder(1))
	s.executor(1, protocol.ExecutorState_EXECUTOR_KILLED) // SIGTERM has ended the executor, because SIGKILL would follow only after 10 minutes
	require.True(t, hasEnded(t, pidfd, 0))
}

func TestRepeatedOrdersHaveNoEffect(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	startWorker(t, nil, m)
	s := m.attached()
	order := launchOrder(m.launchOf(1, "wait"))
	s.order(order)
	s.order(order)
	handle(t, directory, "process")
	s.order(killOrder(1))
	s.order(killOrder(1))
	killed := s.executor(1, protocol.ExecutorState_EXECUTOR_KILLED)
	s.order(killOrder(1)) // the end was not acknowledged, so it is reported again
	require.Equal(t, killed.GetText(), s.executor(1, protocol.ExecutorState_EXECUTOR_KILLED).GetText())
	s.order(killOrder(2))
	require.Equal(t, "its worker does not have it", s.executor(2, protocol.ExecutorState_EXECUTOR_LOST).GetText())
}

func TestLogsAreServed(t *testing.T) {
	m := startMaster(t)
	startWorker(t, map[string]string{"executor.logs.rolling.maxSize": "1b", "executor.logs.rolling.maxRetainedFiles": "2"}, m)
	s := m.attached()
	s.order(launchOrder(m.launchOf(1, "print", "words")))
	url := s.executor(1, protocol.ExecutorState_EXECUTOR_EXITED).GetLogUrl()

	status, body := get(t, url+"?format=json", nil)
	require.Equal(t, http.StatusOK, status)
	var listed LogFiles
	require.NoError(t, json.Unmarshal([]byte(body), &listed))
	var names []string
	for _, file := range listed.Files {
		names = append(names, file.Name)
	}
	require.Equal(t, []string{"stderr.2", "stderr.1", "stderr", "stdout.2", "stdout.1", "stdout"}, names)

	_, body = get(t, strings.TrimSuffix(url, "/1"), nil)
	require.JSONEq(t, `{"owner": "app-1", "processes": ["1"]}`, body)

	_, body = get(t, url+"/stdout.2", nil)
	require.Equal(t, "d", body)
	_, body = get(t, url, nil)
	require.Contains(t, body, "/logs/app-1/1/stdout.1\"")
	status, body = get(t, url+"/stdout.1", http.Header{"Range": {"bytes=-1"}})
	require.Equal(t, http.StatusPartialContent, status)
	require.Equal(t, "s", body)
	for _, path := range []string{"/other", "/..%2fwork%2fprogram", "/../../../cache", "/."} {
		status, _ = get(t, url+path, nil)
		require.NotEqual(t, http.StatusOK, status, path)
	}
}

func get(t *testing.T, url string, header http.Header) (int, string) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	maps.Copy(request.Header, header)
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestStatusShowsRunningAndEnded(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	startWorker(t, nil, m)
	s := m.attached()
	s.order(launchOrder(m.launchOf(1, "exit", "3"), m.launchOf(2, "wait")))
	s.executor(1, protocol.ExecutorState_EXECUTOR_EXITED)
	handle(t, directory, "process")
	_, body := get(t, s.hello.GetWebUrl()+StatusPath, nil)
	var status Status
	require.NoError(t, json.Unmarshal([]byte(body), &status))
	require.Equal(t, s.hello.GetWorkerId(), status.ID)
	require.Equal(t, "running", status.State)
	require.Equal(t, m.address, status.Master)
	require.Equal(t, 2, status.CoresUsed)
	require.EqualValues(t, 576<<20, status.MemoryUsed)
	require.Len(t, status.Executors, 1)
	require.Equal(t, "running", status.Executors[0].State)
	require.Len(t, status.EndedExecutors, 1)
	require.Equal(t, "exited with status 3", status.EndedExecutors[0].Reason)
	code, page := get(t, s.hello.GetWebUrl()+"/", nil)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, page, "exited with status 3")
	require.NotContains(t, page, "ZgotmplZ")
}

func TestFilesAreFetchedOnce(t *testing.T) {
	m := startMaster(t)
	startWorker(t, nil, m)
	s := m.attached()
	var orders []*protocol.LaunchExecutor
	for id := range uint32(4) {
		orders = append(orders, m.launchOf(id, "exit", "0"))
	}
	s.order(launchOrder(orders...))
	ended := map[uint32]bool{}
	s.await(func(message *protocol.WorkerMessage) bool {
		for _, report := range message.GetReport().GetExecutors() {
			if report.GetState().Ended() {
				require.Equal(t, protocol.ExecutorState_EXECUTOR_EXITED, report.GetState(), report.GetText())
				ended[report.GetExecutorId()] = true
			}
		}
		return len(ended) == 4
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	require.Equal(t, 1, m.fetches)
}

func TestAnEndedApplicationLeavesOnlyLogs(t *testing.T) {
	m := startMaster(t)
	w := startWorker(t, nil, m)
	s := m.attached()
	s.order(launchOrder(m.launchOf(1, "print", "words")))
	s.executor(1, protocol.ExecutorState_EXECUTOR_EXITED)
	work := filepath.Join(w.directory, app, "1", "work")
	require.DirExists(t, work)
	s.order(&protocol.WorkerOrder{FinishedApplications: []string{app, "../" + filepath.Base(w.directory), "unknown"}})
	require.Eventually(t, func() bool {
		_, err := os.Stat(work)
		return os.IsNotExist(err)
	}, timeout, time.Millisecond)
	require.Equal(t, "to stdout: words\n", w.file(app, "1", "logs", "stdout"))
}

func TestOldDirectoriesOfRunningExecutorsStay(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	w := startWorker(t, map[string]string{"worker.cleanup.interval": "10ms", "worker.cleanup.appDataTtl": "1ms"}, m)
	s := m.attached()
	ended := m.launchOf(2, "exit", "0")
	ended.ApplicationId = "app-2"
	s.order(launchOrder(m.launchOf(1, "wait"), ended))
	handle(t, directory, "process")
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(w.directory, "app-2"))
		return os.IsNotExist(err) && strings.Contains(w.log.String(), "removed an old directory")
	}, timeout, time.Millisecond)
	require.DirExists(t, filepath.Join(w.directory, app, "1", "work"))
}

func TestNoProcessOutlivesAKilledWorker(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(t *testing.T, pid int)
	}{
		{"killed", func(t *testing.T, pid int) { require.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) }},
		{"stopped and killed", func(t *testing.T, pid int) {
			require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}},
		{"crashed", func(t *testing.T, pid int) { require.NoError(t, syscall.Kill(pid, syscall.SIGABRT)) }},
		{"told to end", func(t *testing.T, pid int) { require.NoError(t, syscall.Kill(pid, syscall.SIGTERM)) }},
		{"killed after its guard", func(t *testing.T, pid int) {
			first := guardOf(t, pid)
			require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
			require.Eventually(t, func() bool { return !slices.Contains([]int{0, first}, guardOrNone(pid)) }, timeout, 5*time.Millisecond)
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			directory := notes(t)
			m := startMaster(t)
			worker := workerProcess(t, t.TempDir(), m)
			s := m.attached()
			s.order(launchOrder(m.launchOf(1, "stubborn")))
			everyone := map[string]int{}
			for _, name := range []string{"process", "child", "group", "session"} {
				everyone[name], _ = handle(t, directory, name)
			}
			test.end(t, worker.Process.Pid)
			for name, pidfd := range everyone {
				require.True(t, hasEnded(t, pidfd, timeout), "%s lives on", name)
			}
		})
	}
}

func TestExecutorsEndIfWorkerAndGuardAreKilled(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	workerDirectory := t.TempDir()
	worker := workerProcess(t, workerDirectory, m)
	s := m.attached()
	order := m.launchOf(1, "stubborn")
	order.Command.Environment[launch.EnvShuffleService] = "auto"
	s.order(launchOrder(order))
	everyone := map[string]int{}
	for _, name := range []string{"process", "child", "group", "session"} {
		everyone[name], _ = handle(t, directory, name)
	}
	secret := filepath.Join(workerDirectory, app, "1", "secret")
	require.DirExists(t, secret)
	outputs := filepath.Join(workerDirectory, app, "shuffle")
	require.DirExists(t, outputs)
	pid := worker.Process.Pid
	beside := guardOf(t, pid)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	require.NoError(t, syscall.Kill(beside, syscall.SIGKILL))
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.True(t, hasEnded(t, everyone["process"], timeout))
	_ = worker.Wait() // after the worker has ended, its directory is unlocked
	// Only the next worker can kill the remaining processes, because both the worker and its
	// guard were killed.
	workerProcess(t, workerDirectory, m)
	m.attached()
	for name, pidfd := range everyone {
		require.True(t, hasEnded(t, pidfd, 0), "%s lives on", name)
	}
	require.NoDirExists(t, secret)
	require.NoDirExists(t, outputs)
}

func TestPredecessor(t *testing.T) {
	directory, err := lockDirectory(t.TempDir())
	require.NoError(t, err)
	before := func() string {
		worker, err := directory.predecessor()
		require.NoError(t, err)
		return worker
	}
	require.Empty(t, before())
	long, short := workerID(time.Now(), "a.host_of-a-name", 41234), workerID(time.Now(), "h", 1)
	for _, id := range []string{long, short} {
		require.NoError(t, directory.setOwner(id))
		require.Equal(t, id, before())
	}
	for _, damaged := range []string{"", "worker-", short[:len(short)-1], short + "/", "\x00" + short} {
		require.NoError(t, directory.setOwner(damaged))
		require.Empty(t, before(), "%q could be a mark of others", damaged)
	}
	require.NoError(t, directory.setOwner(short))
	require.NoError(t, directory.clearOwner())
	require.Empty(t, before())
	require.NoError(t, directory.release())
}

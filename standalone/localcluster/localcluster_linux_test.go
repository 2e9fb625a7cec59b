package localcluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/standalone/application"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	timeout = time.Minute
	// actVariable is the environment variable that makes this test binary act as a program that
	// starts a local cluster.
	actVariable = "LOCALCLUSTER_TEST_PART"
)

func TestMain(m *testing.M) {
	switch role := launch.Role(os.Getenv(launch.EnvRole)); role {
	case launch.RoleMaster, launch.RoleWorker, launch.RoleGuard:
		os.Exit(Main(role))
	case launch.RoleExecutor:
		actExecutor()
	}
	if os.Getenv(actVariable) != "" {
		actProgram()
	}
	os.Exit(m.Run())
}

// actExecutor is an executor that runs a command and ignores SIGTERM.
func actExecutor() {
	signal.Ignore(syscall.SIGTERM)
	child := exec.Command("sleep", "600")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // like the command of a task
	if err := child.Start(); err != nil {
		panic(err)
	}
	note := fmt.Sprintf("%s %d %d\n", os.Getenv(launch.EnvExecutorID), os.Getpid(), child.Process.Pid)
	file, err := os.OpenFile(os.Getenv("TEST_NOTES"), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = file.WriteString(note)
	}
	if err != nil {
		panic(err)
	}
	time.Sleep(math.MaxInt64) // an empty select ends a program without cgo, because all its goroutines are asleep
}

// actProgram starts a cluster with two workers and one executor on each, and prints the
// cluster's directory and process ids.
func actProgram() {
	cluster, err := Start(context.Background(), testOptions(2))
	if err != nil {
		panic(err)
	}
	manager, err := runExecutors(context.Background(), cluster, 2, os.Getenv("TEST_NOTES"))
	if err != nil {
		panic(err)
	}
	fmt.Println(cluster.directory, cluster.master.command.Process.Pid,
		cluster.workers[0].command.Process.Pid, cluster.workers[1].command.Process.Pid)
	_, _ = io.Copy(io.Discard, os.Stdin)
	manager.Close()
	if err := cluster.Stop(context.Background()); err != nil {
		panic(err)
	}
	os.Exit(0)
}

func testOptions(workers int) Options {
	settings, err := config.FromMap(map[string]string{"worker.killGrace": "100ms"})
	if err != nil {
		panic(err)
	}
	return Options{
		Workers: workers, Cores: 1, Memory: 512 * config.MiB, Settings: settings,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
}

type noDriver struct{}

func (noDriver) ExecutorLost(string, driver.Loss)                 {}
func (noDriver) Decommission([]string, driver.DecommissionNotice) {}

// runExecutors registers an application that requests executors.
func runExecutors(ctx context.Context, cluster *Cluster, number int, notes string) (*application.Application, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	files, err := application.HashFiles([]application.LocalFile{{Path: program, Name: "program", Executable: true}})
	if err != nil {
		return nil, err
	}
	masters, err := masterurl.ParseStandalone(cluster.URL())
	if err != nil {
		return nil, err
	}
	manager, err := application.Start(ctx, application.Options{
		ID: application.NewID(time.Now()), Masters: masters, Dial: cluster.Credentials().DialOptions(), Files: files, Driver: noDriver{},
		Description: &protocol.ApplicationDescription{Name: "test", User: "ann", Command: &protocol.ExecutorCommand{
			Driver: "127.0.0.1:1", Pass: []byte("pass"), Environment: map[string]string{"TEST_NOTES": notes},
		}},
	})
	if err != nil {
		return nil, err
	}
	manager.RequestExecutors(driver.Request{Demands: []driver.Demand{{
		Profile: profile.Profile{Cores: 1, Memory: 256 * config.MiB}, Total: number,
	}}})
	return manager, nil
}

// notes is a pipe into which executors write their ids.
type notes struct {
	path  string
	lines *bufio.Scanner
}

func newNotes(t *testing.T) *notes {
	path := filepath.Join(t.TempDir(), "notes")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	file, err := os.OpenFile(path, os.O_RDWR, 0) // opened for reading and writing, so that the pipe stays open until the test ends
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	_ = file.SetReadDeadline(time.Now().Add(timeout))
	return &notes{path, bufio.NewScanner(file)}
}

// executor waits for the next executor to start, and returns the ids of its processes.
func (n *notes) executor(t *testing.T) []int {
	require.True(t, n.lines.Scan(), "no executor has started: %v", n.lines.Err())
	words := strings.Fields(n.lines.Text())
	require.Len(t, words, 3)
	return numbers(t, words[1:])
}

func numbers(t *testing.T, words []string) []int {
	var numbers []int
	for _, word := range words {
		number, err := strconv.Atoi(word)
		require.NoError(t, err)
		numbers = append(numbers, number)
	}
	return numbers
}

// watched has pidfds of processes, by process id. The test waits for the exit of the
// processes.
type watched map[int]int // pidfds by process id

func watch(t *testing.T, pids ...int) watched {
	w := watched{}
	for _, pid := range pids {
		pidfd, err := unix.PidfdOpen(pid, 0)
		require.NoError(t, err)
		w[pid] = pidfd
		t.Cleanup(func() { _ = unix.Close(pidfd) })
	}
	return w
}

func (w watched) allEnd(t *testing.T, within time.Duration) {
	for pid, pidfd := range w {
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(within.Milliseconds()))
			if err == unix.EINTR {
				continue
			}
			require.NoError(t, err)
			if n == 0 {
				name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				require.Failf(t, "a process still runs", "%d: %q", pid, name)
			}
			break
		}
	}
}

// descendants returns the ids of all descendants of a process.
func descendants(t *testing.T, of int) []int {
	var found []int
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	require.NoError(t, err)
	for _, task := range tasks {
		content, _ := os.ReadFile(task)
		for _, pid := range numbers(t, strings.Fields(string(content))) {
			found = append(append(found, pid), descendants(t, pid)...)
		}
	}
	return found
}

func TestStopLeavesNoProcess(t *testing.T) {
	n := newNotes(t)
	cluster, err := Start(t.Context(), testOptions(2))
	require.NoError(t, err)
	manager, err := runExecutors(t.Context(), cluster, 2, n.path)
	require.NoError(t, err)
	executors := append(n.executor(t), n.executor(t)...)
	all := watch(t, append(executors, descendants(t, os.Getpid())...)...)
	require.GreaterOrEqual(t, len(all), 3+2+4, "master and workers, guards, executors and what they run")
	manager.Close()
	require.NoError(t, cluster.Stop(t.Context()))
	all.allEnd(t, 0)
	require.NoDirExists(t, cluster.directory)
}

func TestMasterHasTheProgram(t *testing.T) {
	cluster, err := Start(t.Context(), testOptions(1))
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Stop(context.Background())) }()
	entries, err := os.ReadDir(cluster.part(cachePart))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	sum := strings.TrimSuffix(entries[0].Name(), ".x")
	connection, err := grpc.NewClient("passthrough:///"+strings.TrimPrefix(cluster.URL(), "bobbin://"), cluster.Credentials().DialOptions()...)
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	missing, err := protocol.NewFilesClient(connection).Missing(t.Context(), &protocol.MissingRequest{Sha256: [][]byte{unhex(t, sum)}})
	require.NoError(t, err)
	require.Empty(t, missing.GetSha256(), "the master has it")
}

func unhex(t *testing.T, text string) []byte {
	var sum []byte
	_, err := fmt.Sscanf(text, "%x", &sum)
	require.NoError(t, err)
	require.Len(t, sum, 32)
	return sum
}

func TestProgramThatEndsLeavesNoProcess(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(t *testing.T, program *exec.Cmd, cluster []int) // cluster has the ids of the master's and the workers' processes
	}{
		{"in order", func(*testing.T, *exec.Cmd, []int) {}},
		{"killed", func(t *testing.T, program *exec.Cmd, _ []int) { require.NoError(t, program.Process.Kill()) }},
		{"killed with its group", func(t *testing.T, program *exec.Cmd, _ []int) {
			require.NoError(t, syscall.Kill(-program.Process.Pid, syscall.SIGKILL))
		}},
		{"killed after a worker", func(t *testing.T, program *exec.Cmd, cluster []int) {
			require.NoError(t, syscall.Kill(cluster[1], syscall.SIGKILL))
			require.NoError(t, program.Process.Kill())
		}},
		{"killed after the master", func(t *testing.T, program *exec.Cmd, cluster []int) {
			require.NoError(t, syscall.Kill(cluster[0], syscall.SIGKILL))
			require.NoError(t, program.Process.Kill())
		}},
		{"killed with all of the cluster", func(t *testing.T, program *exec.Cmd, cluster []int) {
			require.NoError(t, program.Process.Kill())
			for _, pid := range cluster {
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNotes(t)
			temporary := t.TempDir()
			program := exec.Command("/proc/self/exe")
			program.Env = append(os.Environ(), actVariable+"=program", "TEST_NOTES="+n.path, "TMPDIR="+temporary)
			program.Stderr = os.Stderr
			program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			input, err := program.StdinPipe()
			require.NoError(t, err)
			output, err := program.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, program.Start())
			line, err := bufio.NewReader(output).ReadString('\n')
			require.NoError(t, err)
			words := strings.Fields(line)
			require.Len(t, words, 4)
			executors := append(n.executor(t), n.executor(t)...)
			all := watch(t, append(executors, descendants(t, program.Process.Pid)...)...)
			require.GreaterOrEqual(t, len(all), 3+2+4)

			test.end(t, program, numbers(t, words[1:]))
			require.NoError(t, input.Close())
			_ = program.Wait()
			all.allEnd(t, timeout)
			if !strings.HasPrefix(test.name, "killed ") || test.name == "killed with its group" {
				entries, err := os.ReadDir(temporary)
				require.NoError(t, err)
				require.Empty(t, entries, "temporary files are left")
			}
		})
	}
}

func TestWorkerDirectoryIsKept(t *testing.T) {
	options := testOptions(1)
	parent := filepath.Join(t.TempDir(), "kept")
	var err error
	options.Settings, err = options.Settings.With(map[string]string{"worker.dir": parent})
	require.NoError(t, err)
	cluster, err := Start(t.Context(), options)
	require.NoError(t, err)
	require.NoError(t, cluster.Stop(t.Context()))
	require.Equal(t, parent, filepath.Dir(cluster.directory))
	require.DirExists(t, cluster.part("worker-1"))
}

func TestStartFails(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*Options)
		problem string
	}{
		{"no workers", func(o *Options) { o.Workers = 0 }, "a local cluster of 0 workers"},
		{"no program", func(o *Options) { o.Program = "/does/not/exist" }, "start the local cluster's master: fork/exec /does/not/exist"},
		{"another program", func(o *Options) { o.Program = "/bin/true" }, "does the program call bobbin.Main first in its main function?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			options := testOptions(1)
			test.change(&options)
			_, err := Start(t.Context(), options)
			require.ErrorContains(t, err, test.problem)
			entries, err := os.ReadDir(os.TempDir())
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
	before := len(descendants(t, os.Getpid()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Start(ctx, testOptions(1))
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, descendants(t, os.Getpid()), before, "no process is left")
}

func TestProcessNeedsInstructions(t *testing.T) {
	for _, said := range []string{"", "no JSON\n", "{}"} {
		err := serve(launch.RoleWorker, strings.NewReader(said), io.Discard)
		require.ErrorContains(t, err, "a local cluster starts such processes", said)
	}
}

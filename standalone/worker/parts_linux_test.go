package worker

import (
	"bufio"
	"context"
	"encoding/json"
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

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/worker/guard"
)

// The test binary is also the program of guards, workers, executors and drivers. An
// environment variable or the first argument selects its role.
func TestMain(m *testing.M) {
	if os.Getenv(launch.EnvRole) == string(launch.RoleGuard) {
		os.Exit(guard.Main())
	}
	if _, started := os.LookupEnv(launch.EnvContainer); started && len(os.Args) > 1 {
		os.Exit(act(os.Args[1], os.Args[2:]))
	}
	if os.Getenv(workerPart) != "" {
		os.Exit(actWorker())
	}
	os.Exit(m.Run())
}

// act is the main function of the programs that workers start. part selects the program.
func act(part string, arguments []string) int {
	switch part {
	case "exit": // exit with a status
		status, _ := strconv.Atoi(arguments[0])
		return status
	case "print": // print lines to stdout and stderr
		fmt.Println("to stdout:", strings.Join(arguments, " "))
		fmt.Fprintln(os.Stderr, "to stderr:", strings.Join(arguments, " "))
		return 0
	case "environment": // print the environment as JSON to stdout
		_ = json.NewEncoder(os.Stdout).Encode(os.Environ())
		return 0
	case "crash":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		waitForever()
	case "once": // fail the first time only
		if _, err := os.Stat(arguments[0]); err == nil {
			fmt.Println("second")
			return 0
		}
		fmt.Println("first")
		_ = os.WriteFile(arguments[0], nil, 0o600)
		return 1
	case "wait": // wait for SIGTERM, then exit
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		note("process", os.Getpid())
		<-stop
		return 0
	case "crash at its end": // wait for SIGTERM, then exit with status 1
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		note("process", os.Getpid())
		<-stop
		return 1
	case "stubborn": // ignore SIGTERM, like its children in other process groups and sessions
		signal.Ignore(syscall.SIGTERM)
		for name, attributes := range map[string]*syscall.SysProcAttr{"child": {}, "group": {Setpgid: true}, "session": {Setsid: true}} {
			command := exec.Command("/proc/self/exe", "idle")
			command.SysProcAttr = attributes
			if err := command.Start(); err != nil {
				panic(err)
			}
			note(name, command.Process.Pid)
		}
		note("process", os.Getpid())
		waitForever()
	case "idle":
		signal.Ignore(syscall.SIGTERM)
		waitForever()
	}
	return 99
}

// waitForever waits until the process is killed. An empty select ends a program without cgo, because all
// its goroutines are asleep.
func waitForever() {
	time.Sleep(math.MaxInt64)
}

// note writes a process's id to a file, which the test reads.
func note(name string, pid int) {
	directory := os.Getenv("TEST_NOTES")
	draft := filepath.Join(directory, "."+name)
	if err := os.WriteFile(draft, []byte(strconv.Itoa(pid)), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(draft, filepath.Join(directory, name)); err != nil {
		panic(err)
	}
}

// handle waits until a process has written its id with note. It returns a pidfd and the id.
func handle(t *testing.T, directory, name string) (pidfd, pid int) {
	path := filepath.Join(directory, name)
	var content []byte
	require.Eventually(t, func() bool {
		var err error
		content, err = os.ReadFile(path)
		return err == nil
	}, timeout, 2*time.Millisecond, name)
	pid, err := strconv.Atoi(string(content))
	require.NoError(t, err)
	pidfd, err = unix.PidfdOpen(pid, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(pidfd) })
	return pidfd, pid
}

// hasEnded reports whether a process ends within the given time.
func hasEnded(t *testing.T, pidfd int, within time.Duration) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(within.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		require.NoError(t, err)
		return n == 1
	}
}

// workerPart is an environment variable that makes this test binary run a worker. Its value is
// the worker's directory and a master's address.
const workerPart = "WORKER_TEST_WORKER"

func actWorker() int {
	directory, master, _ := strings.Cut(os.Getenv(workerPart), " ")
	settings, err := config.FromMap(map[string]string{
		"worker.dir": directory, "worker.host": "127.0.0.1", "worker.ui.port": "0", "worker.cores": "4", "worker.memory": "2g",
		"worker.killGrace": "100ms",
	})
	if err != nil {
		panic(err)
	}
	credentials, err := protocol.FromSecret([]byte(testSecret))
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	leave, deaf := DecommissionSignal()
	defer deaf()
	if err := Run(ctx, Options{
		Masters: []string{master}, Credentials: credentials, Settings: settings, Decommission: leave,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// workerProcess starts a worker in a process of its own.
func workerProcess(t *testing.T, directory string, m *testMaster) *exec.Cmd {
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), workerPart+"="+directory+" "+m.address)
	log, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	var said syncBuffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&said, bufio.NewReader(log))
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		<-read
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return command
}

// guardOf returns the process id of a worker's guard.
func guardOf(t *testing.T, pid int) int {
	found := guardOrNone(pid)
	require.NotZero(t, found, "the worker has no guard")
	return found
}

// guardOrNone returns the process id of a worker's guard, or 0 if it has none.
func guardOrNone(pid int) int {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(children)) {
			if name, _ := os.ReadFile("/proc/" + child + "/cmdline"); strings.HasPrefix(string(name), "bobbin-guard\x00") {
				found, _ := strconv.Atoi(child)
				return found
			}
		}
	}
	return 0
}

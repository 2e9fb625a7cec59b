package guard

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/procfs"
)

// part is an environment variable. It selects what this test binary does in another process.
const part = "GUARD_TEST_PART"

func TestMain(m *testing.M) {
	if os.Getenv(launch.EnvRole) == string(launch.RoleGuard) {
		os.Exit(Main())
	}
	switch os.Getenv(part) {
	case "worker":
		actWorker()
	case "executor":
		actExecutor()
	case "headless":
		actHeadless()
	case "idle":
		_, _ = io.Copy(io.Discard, os.Stdin) // wait until the test, which has the other end of the pipe, closes it or ends
	default:
		os.Exit(m.Run())
	}
}

const mark = "guard-test-%d/"

// actWorker starts a guard and an executor, and prints their ids.
func actWorker() {
	own := fmt.Sprintf(mark, os.Getpid())
	g, err := Start("/proc/self/exe", own, os.Stderr)
	if err != nil {
		panic(err)
	}
	fmt.Println("guard", g.PID())
	executor := exec.Command("/proc/self/exe")
	executor.Env = []string{part + "=executor", launch.EnvContainer + "=" + own + "app/1"}
	executor.Stdin, executor.Stdout, executor.Stderr = os.Stdin, os.Stdout, os.Stderr
	executor.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := executor.Start(); err != nil {
		panic(err)
	}
	fmt.Println("executor", executor.Process.Pid)
	if err := g.Watch(executor.Process.Pid); err != nil {
		panic(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGUSR1)
	fmt.Println("ready 0")
	<-stop
	if err := g.Close(); err != nil {
		panic(err)
	}
	fmt.Println("closed 0")
	_ = executor.Wait()
}

// actExecutor starts processes, each of which lacks one of the marks.
func actExecutor() {
	for name, attributes := range map[string]*syscall.SysProcAttr{
		"child": {}, "group": {Setpgid: true}, "session": {Setsid: true},
	} {
		command := exec.Command("/proc/self/exe")
		command.Env = append(os.Environ(), part+"=idle")
		if name == "group" {
			command.Env = []string{part + "=idle"} // without any mark, as if started by env -i
		}
		command.Stdin, command.SysProcAttr = os.Stdin, attributes
		if err := command.Start(); err != nil {
			panic(err)
		}
		fmt.Println(name, command.Process.Pid)
	}
	fmt.Println("started 0")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// actHeadless ends the first thread of its process. The process continues in another thread.
func actHeadless() {
	going := make(chan struct{})
	go func() {
		close(going)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	<-going
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// init locks main to the first thread of the process, so that actHeadless can end this thread.
func init() {
	if os.Getenv(part) == "headless" {
		runtime.LockOSThread()
	}
}

func TestAProcessWithoutItsFirstThreadEndsToo(t *testing.T) {
	own := fmt.Sprintf(mark, os.Getpid()) + "headless/"
	command := exec.Command("/proc/self/exe")
	command.Env = []string{part + "=headless", launch.EnvContainer + "=" + own}
	_, err := command.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}()
	require.Eventually(t, func() bool {
		p, err := statusOf(procfs.Directory(command.Process.Pid))
		require.NoError(t, err)
		return p.state == 'Z' && p.threads > 1
	}, time.Minute, time.Millisecond)
	require.NoError(t, Sweep(own, nil, 0))
	p, err := statusOf(procfs.Directory(command.Process.Pid))
	require.NoError(t, err)
	require.True(t, p.ended())
}

// In a container whose first process is not a session leader, processes without a session of
// their own appear to be in session 0, like kernel threads.
func TestProcessesInASessionFromOutsideTheNamespaceEndToo(t *testing.T) {
	arguments := []string{"--pid", "--fork", "--kill-child", "--mount-proc"}
	if exec.Command("unshare", append(arguments, "true")...).Run() != nil { // only root may create namespaces
		arguments = append(arguments, "--user", "--map-root-user")
	}
	if out, err := exec.Command("unshare", append(arguments, "true")...).CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("a namespace of processes: %v\n%s", err, out)
		}
		t.Skipf("needs unshare (util-linux) and the right to make a namespace of processes: %v\n%s", err, out)
	}
	command := exec.Command("unshare", append(arguments, os.Args[0], "-test.v", "-test.run=^TestAProcessWithoutItsFirstThreadEndsToo$")...)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS")
}

// family is a worker, its guard, and the processes that they started.
type family struct {
	command *exec.Cmd
	lines   *bufio.Scanner
	pids    map[string]int
	handles map[string]int // pidfds, which report the end of any process, whether or not it is a child
}

func start(t *testing.T) *family {
	f := &family{command: exec.Command("/proc/self/exe"), pids: map[string]int{}, handles: map[string]int{}}
	f.command.Env = append(os.Environ(), part+"=worker")
	f.command.Stderr = os.Stderr
	_, err := f.command.StdinPipe() // open until the test ends
	require.NoError(t, err)
	output, err := f.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, f.command.Start())
	f.lines = bufio.NewScanner(output)
	t.Cleanup(func() {
		for name, handle := range f.handles {
			if t.Failed() {
				_ = syscall.Kill(f.pids[name], syscall.SIGKILL)
			}
			_ = unix.Close(handle)
		}
		_ = f.command.Process.Kill()
		_ = f.command.Wait()
	})
	for len(f.pids) < 7 {
		name, pid := f.readLine(t)
		f.pids[name] = pid
		if pid > 0 {
			f.handles[name], err = unix.PidfdOpen(pid, 0)
			require.NoError(t, err, name)
		}
	}
	return f
}

func (f *family) readLine(t *testing.T) (name string, pid int) {
	require.True(t, f.lines.Scan(), "the worker wrote too few lines: %v", f.lines.Err())
	name, number, ok := strings.Cut(f.lines.Text(), " ")
	require.True(t, ok)
	pid, err := strconv.Atoi(number)
	require.NoError(t, err)
	return name, pid
}

// ended waits until a process has ended.
func (f *family) ended(t *testing.T, name string) {
	require.True(t, f.over(t, name, time.Minute), "%s (process %d) lives on", name, f.pids[name])
}

func (f *family) over(t *testing.T, name string, within time.Duration) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.handles[name]), Events: unix.POLLIN}}, int(within.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		require.NoError(t, err)
		return n == 1
	}
}

var descendants = []string{"executor", "child", "group", "session"}

func TestNoProcessOfAKilledWorkerIsLeft(t *testing.T) {
	f := start(t)
	require.NoError(t, f.command.Process.Kill())
	for _, name := range append(descendants, "guard") {
		f.ended(t, name)
	}
}

func TestNoProcessOfAStoppedExecutorIsLeft(t *testing.T) {
	f := start(t)
	require.NoError(t, syscall.Kill(f.pids["executor"], syscall.SIGSTOP))
	require.NoError(t, f.command.Process.Kill())
	for _, name := range append(descendants, "guard") {
		f.ended(t, name)
	}
}

func TestSignalsToTheGuardDoNotEndIt(t *testing.T) {
	f := start(t)
	require.Eventually(t, func() bool { // the guard sets its name after it has started to ignore signals
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", f.pids["guard"]))
		return err == nil && strings.HasPrefix(name, strings.TrimSpace(string(comm)))
	}, 10*time.Second, time.Millisecond)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPWR} {
		require.NoError(t, syscall.Kill(f.pids["guard"], signal))
	}
	require.False(t, f.over(t, "guard", 0))
	require.NoError(t, f.command.Process.Kill())
	for _, name := range append(descendants, "guard") {
		f.ended(t, name)
	}
}

func TestCloseReturnsWhenNothingIsLeft(t *testing.T) {
	f := start(t)
	require.NoError(t, f.command.Process.Signal(syscall.SIGUSR1))
	name, _ := f.readLine(t)
	require.Equal(t, "closed", name)
	for _, name := range append(descendants, "guard") {
		require.True(t, f.over(t, name, 0), name)
	}
}

func TestUnmarkedProcessesAreSpared(t *testing.T) {
	bystander := start(t)
	f := start(t)
	require.NoError(t, f.command.Process.Kill())
	f.ended(t, "guard")
	for _, name := range descendants {
		require.False(t, bystander.over(t, name, 0), name)
	}
	require.NoError(t, bystander.command.Process.Kill())
	bystander.ended(t, "guard")
	for _, name := range descendants {
		require.True(t, bystander.over(t, name, 0), name)
	}
}

func TestReadSessionsIgnoresIncompleteLines(t *testing.T) {
	for input, want := range map[string]map[int]bool{
		"":                   {},
		"+12\n+13\n-12\n":    {13: true},
		"-12\n+12\n":         {12: true},
		"+1\n+0\n+-5\n":      {}, // session 1 is that of init, and the others are invalid
		"nonsense\n\n+12x\n": {},
	} {
		require.Equal(t, want, readSessionIDs(strings.NewReader(input)), input)
	}
}

func TestEndedIsClosedWhenTheGuardIsKilled(t *testing.T) {
	g, err := Start("/proc/self/exe", "guard-test-none/", os.Stderr)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(g.PID(), syscall.SIGKILL))
	<-g.Ended()
	require.ErrorContains(t, g.Watch(2), "tell the guard")
	require.ErrorContains(t, g.Close(), "signal: killed")
}

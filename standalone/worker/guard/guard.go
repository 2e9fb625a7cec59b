// Package guard kills all processes of a worker when the worker ends, even by SIGKILL.
//
// Executors and drivers have two marks, which their child processes inherit: a session of
// their own, and an environment variable. A process with neither mark is not killed, for
// example a daemon that has begun a new session and has cleared its environment. The guard is
// a child process of the worker. It reads a pipe that only the worker can write. When the pipe
// ends, the guard kills the processes that have one of the marks, until none is left.
//
// If the guard and the worker are killed at the same time, the kernel kills the executors and
// drivers, but not the processes that they have started.
package guard

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

const (
	// killTimeout is how long Sweep waits until killed processes have ended. A process that is
	// stuck in the kernel, or that runs as another user, does not end.
	killTimeout = 30 * time.Second
	// pollInterval is the time between two checks whether killed processes have ended. Polling
	// is needed because the kernel notifies a process only about its own children.
	pollInterval = 5 * time.Millisecond

	name = "bobbin-guard" // name of the process in ps and top

	// raceOptions is the environment variable with options of the race detector.
	raceOptions = "GORACE"
)

// Guard is the guard process of this worker. All methods except Ended must be called by one
// goroutine at a time.
type Guard struct {
	command *exec.Cmd
	pipe    *os.File
	ended   chan struct{}
	failure error // set before ended is closed
}

// Start starts a guard for this process. It runs program in the role launch.RoleGuard; in this
// role, program must call Main. The guard kills the processes whose variable
// launch.EnvContainer begins with mark, so no other processes may have such a value.
func Start(program, mark string, stderr io.Writer) (*Guard, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	defer func() { _ = read.Close() }()
	command := exec.Command(program, mark)
	command.Args[0] = name
	command.Env = []string{launch.EnvRole + "=" + string(launch.RoleGuard)}
	if options, ok := os.LookupEnv(raceOptions); ok {
		command.Env = append(command.Env, raceOptions+"="+options)
	}
	command.Stdin, command.Stderr = read, stderr
	// In its own session, the guard does not receive signals that are sent to the worker's
	// terminal or process group.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		_ = write.Close()
		return nil, fmt.Errorf("start the guard, the process that ends executors when the worker is killed: %w", err)
	}
	g := &Guard{command: command, pipe: write, ended: make(chan struct{})}
	go func() {
		g.failure = command.Wait()
		_ = write.Close() // the guard, which reads the pipe, has ended
		close(g.ended)
	}()
	return g, nil
}

// PID returns the guard's process id.
func (g *Guard) PID() int { return g.command.Process.Pid }

// Watch adds a session. When this process ends, the guard kills the session's processes.
func (g *Guard) Watch(session int) error { return g.write("+", session) }

// Forget removes a session. It must be called after the session's processes have ended, and
// before the session's number is reused.
func (g *Guard) Forget(session int) error { return g.write("-", session) }

func (g *Guard) write(sign string, session int) error {
	if _, err := g.pipe.WriteString(sign + strconv.Itoa(session) + "\n"); err != nil {
		return fmt.Errorf("tell the guard (process %d): %w", g.PID(), err)
	}
	return nil
}

// Ended returns a channel that is closed when the guard has ended. If the guard ends before
// Close is called, it was killed.
func (g *Guard) Ended() <-chan struct{} { return g.ended }

// Close makes the guard kill all remaining processes, and waits until the guard has ended. The
// error names the processes that could not be killed.
func (g *Guard) Close() error {
	_ = g.pipe.Close()
	<-g.ended
	if g.failure != nil {
		return fmt.Errorf("the guard (process %d) ended with %w", g.PID(), g.failure)
	}
	return nil
}

// Main runs the guard process until the worker has ended and its processes are killed. It
// returns the exit status.
func Main() int {
	signal.Ignore(ignoredSignals...)
	if len(os.Args) != 2 || os.Args[1] == "" {
		fmt.Fprintln(os.Stderr, name+": a worker starts it, with the mark of its processes as the one argument")
		return 2
	}
	setProcessName(name)
	_ = os.Chdir("/") // so that the worker's directory is not in use
	sessionIDs := readSessionIDs(os.Stdin)
	if err := Sweep(os.Args[1], sessionIDs, 0); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 1
	}
	return 0
}

// readSessionIDs reads the pipe until its end. It returns the sessions that were added and not
// removed.
func readSessionIDs(worker io.Reader) map[int]bool {
	sessionIDs := map[int]bool{}
	for lines := bufio.NewScanner(worker); lines.Scan(); {
		line := lines.Text()
		if line == "" {
			continue
		}
		session, err := strconv.Atoi(line[1:])
		switch {
		case err != nil || session <= 1: // the line is invalid, or is incomplete because the worker has ended
		case line[0] == '+':
			sessionIDs[session] = true
		case line[0] == '-':
			delete(sessionIDs, session)
		}
	}
	return sessionIDs
}

// Time is the start time of a process, in clock ticks since boot. 0 is earlier than the start
// of any process.
type Time uint64

// Sweep kills the processes of the sessions, and every process whose variable
// launch.EnvContainer begins with mark, except the calling process. It returns when none of
// them is left, and fails after 30 s. It ignores processes whose start time is earlier than
// since, to save time.
func Sweep(mark string, sessionIDs map[int]bool, since Time) error {
	deadline := time.Now().Add(killTimeout)
	found := map[int]Time{}         // start times of the processes to kill, by process id
	kernelThreads := map[int]bool{} // kernel threads that were found, which need not be examined again
	for {
		if err := findProcesses(mark, sessionIDs, since, found, kernelThreads); err != nil {
			return err
		}
		// A process that is ending may no longer have its session or variable, so it remains
		// in found until it has ended.
		maps.DeleteFunc(found, hasEnded)
		if len(found) == 0 {
			return nil
		}
		left := slices.Sorted(maps.Keys(found))
		var problems []error
		for _, pid := range left {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				problems = append(problems, fmt.Errorf("kill process %d: %w", pid, err))
			}
		}
		if time.Now().After(deadline) {
			problems = append(problems, fmt.Errorf("%d processes did not end though they were killed, among them %s", len(left), joinPIDs(left, 8)))
			return errors.Join(problems...)
		}
		time.Sleep(pollInterval)
	}
}

func joinPIDs(pids []int, limit int) string {
	var words []string
	for _, pid := range pids[:min(limit, len(pids))] {
		words = append(words, strconv.Itoa(pid))
	}
	return strings.Join(words, ", ")
}

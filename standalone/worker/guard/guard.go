// Package guard kills all processes of a worker when the worker ends, even by SIGKILL.
//
// Executors and drivers have two marks, which their children inherit: a session of
// their own, and an environment variable. A process without either mark, such as a
// daemon, is left alone. The guard is a process beside the worker. It reads a pipe
// that only the worker writes. At the pipe's end, the guard kills processes with one
// of the marks until none is left.
//
// If guard and worker are killed at once, the kernel kills executors and drivers,
// but not processes that they started.
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
	// killTimeout bounds the wait for killed processes. A process that is stuck in the
	// kernel, or runs as another user, does not end.
	killTimeout = 30 * time.Second
	// pollInterval is the time between two checks whether killed processes have ended. Polling
	// is needed because the kernel notifies a process only about its own children.
	pollInterval = 5 * time.Millisecond

	name = "bobbin-guard" // in lists of processes

	// raceOptions are options of the race detector, which programs with it read.
	raceOptions = "GORACE"
)

// Guard is this worker's guard process. One goroutine must call its methods, except Ended.
type Guard struct {
	command *exec.Cmd
	pipe    *os.File
	ended   chan struct{}
	failure error // set when ended is closed
}

// Start starts a guard for this process, by running program in the role
// launch.RoleGuard, in which it must call Main. The guard kills the processes whose
// launch.EnvContainer begins with mark; no others may have such a value.
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
	// In its own session, the guard gets no signals for the worker's terminal or process group.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		_ = write.Close()
		return nil, fmt.Errorf("start the guard, the process that ends executors when the worker is killed: %w", err)
	}
	g := &Guard{command: command, pipe: write, ended: make(chan struct{})}
	go func() {
		g.failure = command.Wait()
		_ = write.Close() // the reader, the guard, has ended
		close(g.ended)
	}()
	return g, nil
}

// PID returns the guard's process id.
func (g *Guard) PID() int { return g.command.Process.Pid }

// Watch makes the guard kill a session's processes when this process ends.
func (g *Guard) Watch(session int) error { return g.write("+", session) }

// Forget removes a session, after its processes have ended and before its number is reused.
func (g *Guard) Forget(session int) error { return g.write("-", session) }

func (g *Guard) write(sign string, session int) error {
	if _, err := g.pipe.WriteString(sign + strconv.Itoa(session) + "\n"); err != nil {
		return fmt.Errorf("tell the guard (process %d): %w", g.PID(), err)
	}
	return nil
}

// Ended returns a channel that is closed when the guard has ended. If that happens before
// Close is called, the guard was killed.
func (g *Guard) Ended() <-chan struct{} { return g.ended }

// Close makes the guard kill all remaining processes, and waits for its end. The
// error names processes that did not end.
func (g *Guard) Close() error {
	_ = g.pipe.Close()
	<-g.ended
	if g.failure != nil {
		return fmt.Errorf("the guard (process %d) ended with %w", g.PID(), g.failure)
	}
	return nil
}

// Main is the guard process. It returns the exit status after the worker's end.
func Main() int {
	signal.Ignore(ignoredSignals...)
	if len(os.Args) != 2 || os.Args[1] == "" {
		fmt.Fprintln(os.Stderr, name+": a worker starts it, with the mark of its processes as the one argument")
		return 2
	}
	setProcessName(name)
	_ = os.Chdir("/") // do not keep the directory in use
	sessions := readSessions(os.Stdin)
	if err := Sweep(os.Args[1], sessions, 0); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 1
	}
	return 0
}

// readSessions returns the sessions that were added and not removed, at the pipe's end.
func readSessions(worker io.Reader) map[int]bool {
	sessions := map[int]bool{}
	for lines := bufio.NewScanner(worker); lines.Scan(); {
		line := lines.Text()
		if line == "" {
			continue
		}
		session, err := strconv.Atoi(line[1:])
		switch {
		case err != nil || session <= 1: // cut off by the end of the worker
		case line[0] == '+':
			sessions[session] = true
		case line[0] == '-':
			delete(sessions, session)
		}
	}
	return sessions
}

// Time is a process's start time, in clock ticks since boot; 0 is earlier than any.
type Time uint64

// Sweep kills the sessions' processes, and every process whose launch.EnvContainer
// begins with mark, except this one. It returns when none is left, and fails after
// 30 s. To be faster, it skips processes that started before since.
func Sweep(mark string, sessions map[int]bool, since Time) error {
	deadline := time.Now().Add(killTimeout)
	found := map[int]Time{} // start times, by process id
	kernel := map[int]bool{}
	for {
		if err := findProcesses(mark, sessions, since, found, kernel); err != nil {
			return err
		}
		// An ending process loses its marks early: keep it in found until its end.
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

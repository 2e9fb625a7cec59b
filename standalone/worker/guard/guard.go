// Package guard sees to it that no process is left when a worker ends, however
// it ends, kill -9 included.
//
// A worker's executors and drivers, and whatever these start, are known by two
// signs that they inherit: the session that each of them leads, and a variable
// in their environment. A process that leaves both of them behind has left the
// application, as a daemon does. The guard is a process of its own beside the
// worker. It reads a pipe that only the worker can write, takes the pipe's end
// for the worker's, and kills what bears either sign until nothing is left.
//
// Where guard and worker are killed in the same moment, executors and drivers
// still end, as each asks the kernel for a signal when its worker ends; what
// they started may then stay.
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
	// giveUp is how long processes that were killed may take to end. Those that
	// are stuck in the kernel, or became another user's, do not.
	giveUp = 30 * time.Second
	// look is between two looks for processes that were killed: nobody tells of
	// the end of a process that is no child.
	look = 5 * time.Millisecond

	name = "bobbin-guard" // as lists of processes show it
)

// Guard is the process that outlives its worker. Its methods are for one
// goroutine, but for Ended.
type Guard struct {
	command *exec.Cmd
	pipe    *os.File
	ended   chan struct{}
	failure error // once ended is closed
}

// Start has program watch over this process: a program that calls Main in the
// role launch.RoleGuard. mark begins the value of launch.EnvContainer in all
// processes that are to end with this one; no others may have it.
func Start(program, mark string, stderr io.Writer) (*Guard, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	defer func() { _ = read.Close() }()
	command := exec.Command(program, mark)
	command.Args[0] = name
	command.Env = []string{launch.EnvRole + "=" + string(launch.RoleGuard)}
	command.Stdin, command.Stderr = read, stderr
	// In a session of its own no signal to the worker's terminal or group ends it.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		_ = write.Close()
		return nil, fmt.Errorf("start the guard, the process that ends executors when the worker is killed: %w", err)
	}
	g := &Guard{command: command, pipe: write, ended: make(chan struct{})}
	go func() {
		g.failure = command.Wait()
		_ = write.Close() // nobody reads any more
		close(g.ended)
	}()
	return g, nil
}

// PID is the guard's process.
func (g *Guard) PID() int { return g.command.Process.Pid }

// Watch adds a session to those that end with this process.
func (g *Guard) Watch(session int) error { return g.tell("+", session) }

// Forget takes out a session whose processes have all ended, before another
// may get its number.
func (g *Guard) Forget(session int) error { return g.tell("-", session) }

func (g *Guard) tell(sign string, session int) error {
	if _, err := g.pipe.WriteString(sign + strconv.Itoa(session) + "\n"); err != nil {
		return fmt.Errorf("tell the guard (process %d): %w", g.PID(), err)
	}
	return nil
}

// Ended is closed when the guard has ended: before Close, because somebody
// killed it.
func (g *Guard) Ended() <-chan struct{} { return g.ended }

// Close has the guard kill what is left and end. Its error says what it could
// not end.
func (g *Guard) Close() error {
	_ = g.pipe.Close()
	<-g.ended
	if g.failure != nil {
		return fmt.Errorf("the guard (process %d) ended with %w", g.PID(), g.failure)
	}
	return nil
}

// Main is a process in the role launch.RoleGuard. It returns the exit status
// when the worker has ended and nothing of it is left.
func Main() int {
	signal.Ignore(deaf...)
	if len(os.Args) != 2 || os.Args[1] == "" {
		fmt.Fprintln(os.Stderr, name+": a worker starts it, with the mark of its processes as the one argument")
		return 2
	}
	callMe(name)
	_ = os.Chdir("/") // it may outlive the directory in which it was started
	sessions := listen(os.Stdin)
	if err := Sweep(os.Args[1], sessions, 0); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 1
	}
	return 0
}

// listen gives the sessions that are watched at the end of the worker's words.
func listen(worker io.Reader) map[int]bool {
	sessions := map[int]bool{}
	for words := bufio.NewScanner(worker); words.Scan(); {
		line := words.Text()
		if line == "" {
			continue
		}
		session, err := strconv.Atoi(line[1:])
		switch {
		case err != nil || session <= 1: // cut off by the worker's end
		case line[0] == '+':
			sessions[session] = true
		case line[0] == '-':
			delete(sessions, session)
		}
	}
	return sessions
}

// Time is when a process started, in ticks of the system's clock; 0 is before
// all of them.
type Time uint64

// Sweep kills every process of one of the sessions, and every process in whose
// environment launch.EnvContainer begins with mark, and returns when none is
// left. It spares the process that calls it. Processes that started before since
// are not looked at, which is quicker.
func Sweep(mark string, sessions map[int]bool, since Time) error {
	deadline := time.Now().Add(giveUp)
	found := map[int]Time{} // by when they started
	kernel := map[int]bool{}
	for {
		if err := belonging(mark, sessions, since, found, kernel); err != nil {
			return err
		}
		// One that is ending loses its signs before it has ended.
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
			problems = append(problems, fmt.Errorf("%d processes did not end though they were killed, among them %s", len(left), numbers(left, 8)))
			return errors.Join(problems...)
		}
		time.Sleep(look)
	}
}

func numbers(pids []int, most int) string {
	var words []string
	for _, pid := range pids[:min(most, len(pids))] {
		words = append(words, strconv.Itoa(pid))
	}
	return strings.Join(words, ", ")
}

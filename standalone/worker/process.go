package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/worker/guard"
)

// outputTimeout limits how long a process's output is read after the process's session has
// ended, because a process of another user may still have the pipe open.
const outputTimeout = time.Second

type runner struct {
	spawner *spawner
	guard   *guardSupervisor
	limits  logLimits
	grace   time.Duration // time between SIGTERM and SIGKILL
	logger  *slog.Logger
}

type process struct {
	mark        string // value of launch.EnvContainer; must not be a prefix of another process's mark
	program     string
	arguments   []string
	environment []string
	directory   string // working directory
	logs        string // directory for stdout and stderr
}

type ending struct {
	code   int  // 0 to 255, or the negated number of the signal that ended the process
	killed bool // whether the worker has killed the process
}

func (e ending) String() string {
	switch {
	case e.code >= 0:
		return "exited with status " + strconv.Itoa(e.code)
	default:
		signal := syscall.Signal(-e.code)
		return fmt.Sprintf("was ended by signal %d (%v)", int(signal), signal)
	}
}

// run runs a process, and waits until the process and all processes that it started have
// ended. When ctx ends, run sends SIGTERM to the process group and, after the grace period,
// SIGKILL. run calls started when the process has started. It fails if the process cannot be
// started.
func (r *runner) run(ctx context.Context, p process, started func(pid int)) (ending, error) {
	command := exec.Command(p.program, p.arguments...)
	command.Args[0] = "./" + filepath.Base(p.program)
	command.Dir, command.Env = p.directory, p.environment
	outputs, err := r.redirect(command, p.logs)
	if err != nil {
		return ending{}, err
	}
	err = r.spawner.start(command)
	outputs.closeInherited()
	if err != nil {
		outputs.close(r.logger)
		return ending{}, fmt.Errorf("start %s: %w", p.program, err)
	}
	pid := command.Process.Pid
	r.guard.add(pid)
	started(pid)

	exited := make(chan error, 1)
	go func() { exited <- awaitExit(pid) }()
	killed := r.awaitEnd(ctx, pid, p.mark, exited)
	// Kill the other processes of the session. Until Wait is called, the process is a zombie,
	// and its session number is not reused.
	since, _ := guard.Started(pid) // if this fails, since is 0, and Sweep checks all processes
	if err := guard.Sweep(p.mark, map[int]bool{pid: true}, since); err != nil {
		r.logger.Error("processes are left behind", "of", p.mark, "error", err)
	}
	_ = command.Wait() // ProcessState is used instead of the error
	r.guard.remove(pid)
	outputs.close(r.logger)
	return ending{code: exitCode(command.ProcessState), killed: killed}, nil
}

// awaitEnd waits until the process has ended, and kills it if ctx ends. It reports whether it
// has killed the process.
func (r *runner) awaitEnd(ctx context.Context, pid int, mark string, exited <-chan error) (killed bool) {
	select {
	case <-exited:
		return false
	case <-ctx.Done():
	}
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	timeout := time.NewTimer(r.grace)
	defer timeout.Stop()
	select {
	case <-exited:
	case <-timeout.C:
		r.logger.Warn("killing a process that did not end after SIGTERM", "pid", pid, "container", mark, "after", r.grace)
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		<-exited
	}
	return true
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -int(status.Signal())
	}
	return state.ExitCode()
}

// outputs are the pipes of a process's stdout and stderr, and the goroutines that read them.
type outputs struct {
	inherited []*os.File // the write ends, which the process inherits
	read      []*os.File
	reading   sync.WaitGroup
	mu        sync.Mutex
	failed    error
}

func (r *runner) redirect(command *exec.Cmd, logs string) (*outputs, error) {
	o := &outputs{}
	for _, stream := range []struct {
		name string
		set  func(*os.File)
	}{
		{"stdout", func(f *os.File) { command.Stdout = f }},
		{"stderr", func(f *os.File) { command.Stderr = f }},
	} {
		log, err := openLog(filepath.Join(logs, stream.name), r.limits)
		if err != nil {
			o.closeInherited()
			o.close(r.logger)
			return nil, err
		}
		read, write, err := os.Pipe()
		if err != nil {
			o.closeInherited()
			o.close(r.logger)
			return nil, errors.Join(fmt.Errorf("open a pipe for %s: %w", stream.name, err), log.Close())
		}
		stream.set(write)
		o.inherited, o.read = append(o.inherited, write), append(o.read, read)
		o.reading.Go(func() {
			err := errors.Join(log.follow(read), log.Close())
			o.mu.Lock()
			defer o.mu.Unlock()
			o.failed = errors.Join(o.failed, err)
		})
	}
	return o, nil
}

// closeInherited closes the worker's copies of the write ends. Then a pipe ends when the
// process and its children have closed their copies.
func (o *outputs) closeInherited() {
	for _, file := range o.inherited {
		_ = file.Close()
	}
}

// close reads the remaining output and closes the pipes.
func (o *outputs) close(logger *slog.Logger) {
	for _, file := range o.read {
		_ = file.SetReadDeadline(time.Now().Add(outputTimeout))
	}
	o.reading.Wait()
	for _, file := range o.read {
		_ = file.Close()
	}
	if o.failed != nil {
		logger.Warn("output of a process was lost", "error", o.failed)
	}
}

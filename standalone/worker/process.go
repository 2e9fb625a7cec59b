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

// outputLeave is how long the output of a process may go on when the process and
// all of its session have ended: another user's process holds it.
const outputLeave = time.Second

// host is what a worker's processes run by.
type runner struct {
	spawner *spawner
	guard   *guardSupervisor
	limits  logLimits
	grace   time.Duration // between SIGTERM and SIGKILL
	logger  *slog.Logger
}

// process is what is to be run.
type process struct {
	mark        string // what launch.EnvContainer is in its environment; no other's begins so
	program     string
	arguments   []string
	environment []string
	directory   string // where it runs
	logs        string // where its stdout and stderr go
}

// ending is how a process ended.
type ending struct {
	code   int  // 0 to 255, or minus a signal's number
	killed bool // it was told to end
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

// run runs a process until it and all that it started have ended. When ctx ends,
// it is told to end, and killed with its session where it does not. started is
// called once it runs. The error is why it could not be started.
func (r *runner) run(ctx context.Context, p process, started func(pid int)) (ending, error) {
	command := exec.Command(p.program, p.arguments...)
	command.Args[0] = "./" + filepath.Base(p.program)
	command.Dir, command.Env = p.directory, p.environment
	outputs, err := r.redirect(command, p.logs)
	if err != nil {
		return ending{}, err
	}
	err = r.spawner.start(command)
	outputs.handOver()
	if err != nil {
		outputs.close(r.logger)
		return ending{}, fmt.Errorf("start %s: %w", p.program, err)
	}
	pid := command.Process.Pid
	r.guard.add(pid)
	started(pid)

	over := make(chan error, 1)
	go func() { over <- awaitExit(pid) }()
	told := r.untilExit(ctx, pid, p.mark, over)
	// What it left in its session has nobody to wait for it. It itself is a zombie
	// until Wait, so the session's number is nobody else's.
	since, _ := guard.Started(pid) // else all processes are looked at
	if err := guard.Sweep(p.mark, map[int]bool{pid: true}, since); err != nil {
		r.logger.Error("processes are left behind", "of", p.mark, "error", err)
	}
	_ = command.Wait() // its state says more than the error does
	r.guard.remove(pid)
	outputs.close(r.logger)
	return ending{code: exitCode(command.ProcessState), killed: told}, nil
}

// untilExit returns when the process has ended, and whether it was told to.
func (r *runner) untilExit(ctx context.Context, pid int, mark string, over <-chan error) (told bool) {
	select {
	case <-over:
		return false
	case <-ctx.Done():
	}
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	patience := time.NewTimer(r.grace)
	defer patience.Stop()
	select {
	case <-over:
	case <-patience.C:
		r.logger.Warn("killing a process that did not end when it was told to", "pid", pid, "container", mark, "after", r.grace)
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		<-over
	}
	return true
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -int(status.Signal())
	}
	return state.ExitCode()
}

// outputs are the pipes to which a process writes, and who reads them.
type outputs struct {
	given   []*os.File // the process's ends
	read    []*os.File
	reading sync.WaitGroup
	mu      sync.Mutex
	failed  error
}

// redirect has what a command writes go to rolling files.
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
			o.handOver()
			o.close(r.logger)
			return nil, err
		}
		read, write, err := os.Pipe()
		if err != nil {
			o.handOver()
			o.close(r.logger)
			return nil, errors.Join(fmt.Errorf("open a pipe for %s: %w", stream.name, err), log.Close())
		}
		stream.set(write)
		o.given, o.read = append(o.given, write), append(o.read, read)
		o.reading.Go(func() {
			err := errors.Join(log.follow(read), log.Close())
			o.mu.Lock()
			defer o.mu.Unlock()
			o.failed = errors.Join(o.failed, err)
		})
	}
	return o, nil
}

// handOver closes the ends that the process has by now.
func (o *outputs) handOver() {
	for _, file := range o.given {
		_ = file.Close()
	}
}

// close reads what is left in the pipes.
func (o *outputs) close(logger *slog.Logger) {
	for _, file := range o.read {
		_ = file.SetReadDeadline(time.Now().Add(outputLeave))
	}
	o.reading.Wait()
	for _, file := range o.read {
		_ = file.Close()
	}
	if o.failed != nil {
		logger.Warn("output of a process was lost", "error", o.failed)
	}
}

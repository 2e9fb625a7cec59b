package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// pipeChunk is how many bytes of lines are written to a command, or read from it,
	// at once.
	pipeChunk = 64 << 10
	// pipeTail is how many bytes of the end of a command's stderr errors contain.
	pipeTail = 4 << 10
	// pipeDelay is how long to wait for the rest of stderr when a command has exited but
	// a process that it started keeps it open.
	pipeDelay = time.Second
)

// Pipe runs a command for each partition, which gets the elements as lines on stdin; the
// lines of its stdout are the elements of the result. The command is a program, found as
// os/exec finds it, and its arguments. An element that contains a line break becomes
// several lines.
//
// The task fails if the command cannot be started or its exit code is not 0; the error
// has the end of its stderr. If the command exits before it has read all of its input,
// as head does, the rest is ignored. When the task ends, the command's process group is
// killed.
func Pipe(in *Of[[]byte], command ...string) *Of[[]byte] {
	if len(command) == 0 || command[0] == "" {
		in.plan.reject("Pipe", errors.New("it needs a command"))
	}
	piped := narrow(in, "Pipe", func(x *taskContext, partition int, emit func([]byte) bool) {
		p, err := startPipe(x.task, command, emit)
		if err == nil {
			defer p.End()
			in.compute(x, partition, p.Write)
			if x.err != nil || p.stopped {
				return
			}
			err = p.Finish()
		}
		if cause := context.Cause(x.task); cause != nil {
			err = cause
		}
		if err != nil {
			x.fail(fmt.Errorf("command %q: %w", command, err))
		}
	})
	piped.node.arguments = fmt.Sprintf("%q", command)
	return piped
}

// pipe is a running command. One goroutine writes its stdin and another reads its
// stdout. The task's goroutine calls the methods: while it waits until the command reads
// more, it emits what the command has written.
type pipe struct {
	command *exec.Cmd
	cancel  context.CancelFunc // kills the command
	emit    func(line []byte) bool
	stopped bool // emit has returned false

	input    chan []byte   // chunks of lines for stdin; closed at the end of the input
	closed   bool          // input is closed
	unread   chan struct{} // closed if the command reads no more
	output   chan []byte   // chunks of stdout; closed at its end
	waited   bool          // the command was waited for
	transfer sync.WaitGroup

	// A channel has no buffer, so that two chunks are enough: while one is used, its
	// sender fills the other.
	chunk, other []byte
	rest         []byte // begin of a line of stdout whose end was not read yet
	stderr       tail
}

func startPipe(ctx context.Context, command []string, emit func([]byte) bool) (*pipe, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &pipe{
		command: exec.CommandContext(ctx, command[0], command[1:]...),
		cancel:  cancel,
		emit:    emit,
		input:   make(chan []byte),
		unread:  make(chan struct{}),
		output:  make(chan []byte),
	}
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.command.Cancel = func() error { return syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) }
	p.command.WaitDelay = pipeDelay
	p.command.Stderr = &p.stderr
	stdin, err := p.command.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	stdout, err := p.command.StdoutPipe()
	if err == nil {
		err = p.command.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	p.transfer.Go(func() { p.feed(stdin) })
	p.transfer.Go(func() { p.read(ctx, stdout) })
	p.transfer.Go(func() {
		<-ctx.Done() // a process outside of the group can keep the pipes open
		_, _ = stdin.Close(), stdout.Close()
	})
	return p, nil
}

// feed writes the input to stdin.
func (p *pipe) feed(stdin io.WriteCloser) {
	defer stdin.Close()
	for chunk := range p.input {
		if _, err := stdin.Write(chunk); err != nil {
			close(p.unread)
			return
		}
	}
}

// read reads stdout.
func (p *pipe) read(ctx context.Context, stdout io.Reader) {
	defer close(p.output)
	for chunk, other := make([]byte, pipeChunk), make([]byte, pipeChunk); ; chunk, other = other, chunk {
		n, err := stdout.Read(chunk)
		if n > 0 {
			select {
			case p.output <- chunk[:n]:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Write adds an element to the input. It returns false if no more is needed.
func (p *pipe) Write(element []byte) bool {
	p.chunk = append(append(p.chunk, element...), '\n')
	return len(p.chunk) < pipeChunk || p.flush()
}

// flush passes the chunk to the command, and emits lines until the command has taken
// it. It returns false if no more is needed.
func (p *pipe) flush() bool {
	output := p.output
	for {
		select {
		case p.input <- p.chunk:
			p.chunk, p.other = p.other[:0], p.chunk
			return true
		case <-p.unread:
			p.chunk = p.chunk[:0]
			return false
		case chunk, more := <-output:
			if !more {
				output = nil
			} else if !p.emitLines(chunk) {
				return false
			}
		}
	}
}

// emitLines emits the lines of a chunk of stdout.
func (p *pipe) emitLines(chunk []byte) bool {
	for {
		i := bytes.IndexByte(chunk, '\n')
		if i < 0 {
			p.rest = append(p.rest, chunk...)
			return true
		}
		line := chunk[:i]
		if len(p.rest) > 0 {
			p.rest = append(p.rest, line...)
			line = p.rest
		}
		if !p.emit(line) {
			p.stopped = true
			return false
		}
		p.rest, chunk = p.rest[:0], chunk[i+1:]
	}
}

// Finish ends the input, emits the rest of the output, and waits for the command. It
// returns an error if the command has failed.
func (p *pipe) Finish() error {
	if len(p.chunk) > 0 && !p.flush() && p.stopped {
		return nil
	}
	close(p.input)
	p.closed = true
	for chunk := range p.output {
		if !p.stopped {
			p.emitLines(chunk)
		}
		if p.stopped {
			p.cancel()
		}
	}
	if len(p.rest) > 0 && !p.stopped {
		p.stopped = !p.emit(p.rest)
	}
	err := p.command.Wait()
	p.waited = true
	if p.stopped || errors.Is(err, exec.ErrWaitDelay) && p.command.ProcessState.Success() {
		return nil
	}
	if message := strings.TrimSpace(string(p.stderr.end)); err != nil && message != "" {
		return fmt.Errorf("%w; the end of its stderr: %s", err, message)
	}
	return err
}

// End kills the command if it runs, and waits for it and the goroutines.
func (p *pipe) End() {
	p.cancel()
	if !p.closed {
		close(p.input)
	}
	p.transfer.Wait()
	if !p.waited {
		_ = p.command.Wait() // it was killed
	}
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) // what is left of the group
}

// tail keeps the end of what is written to it.
type tail struct{ end []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.end = append(t.end, b...)
	if len(t.end) > 2*pipeTail {
		t.end = append(t.end[:0], t.end[len(t.end)-pipeTail:]...)
	}
	return len(b), nil
}

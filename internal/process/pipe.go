package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// pipeChunk is the approximate number of bytes that are written to a command's stdin at
	// once, and the maximum number that are read from its stdout at once.
	pipeChunk = 64 << 10
	// tailBytes is the number of bytes that a Tail stores at least; it may store twice as many.
	tailBytes = 4 << 10
	// pipeDelay is how long Finish waits for the end of stderr after the command has exited,
	// because child processes of the command may not have closed stderr.
	pipeDelay = time.Second
)

// Command describes a command for [Start].
type Command struct {
	// Args are the program, which is looked up as os/exec does, and its arguments.
	Args        []string
	Environment []string // nil means the environment of this process
	Directory   string   // the working directory; "" means that of this process
	Stderr      io.Writer
}

// Pipe is a running command that reads lines from stdin and prints lines to stdout. One
// goroutine writes stdin and another reads stdout. The methods must be called from one
// goroutine, that of the task. While they wait for the command to read, they call emit with the
// lines that the command has printed.
type Pipe struct {
	command *exec.Cmd
	cancel  context.CancelFunc // kills the command
	emit    func(line []byte) bool
	stopped bool // emit has returned false

	input    chan []byte   // chunks of lines for stdin; closed at the end of the input
	closed   bool          // whether input is closed
	unread   chan struct{} // closed when the command no longer reads stdin
	output   chan []byte   // chunks of stdout; closed at the end of stdout
	waited   bool          // whether command.Wait was called
	transfer sync.WaitGroup

	// Write fills chunk while feed writes other to stdin. Two buffers are enough, because the
	// channel input has no buffer. Similarly, read uses two buffers of its own.
	chunk, other []byte
	rest         []byte // beginning of a line of stdout whose end has not been read yet
}

// Start starts a command. Write and Finish call emit with each line of its stdout, without
// the newline, until emit returns false. When ctx ends, the command's process group is
// killed. The caller must call End.
func Start(ctx context.Context, command Command, emit func(line []byte) bool) (*Pipe, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &Pipe{
		command: exec.CommandContext(ctx, command.Args[0], command.Args[1:]...),
		cancel:  cancel,
		emit:    emit,
		input:   make(chan []byte),
		unread:  make(chan struct{}),
		output:  make(chan []byte),
	}
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.command.Cancel = func() error { return syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) }
	p.command.WaitDelay = pipeDelay
	p.command.Env, p.command.Dir, p.command.Stderr = command.Environment, command.Directory, command.Stderr
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
		<-ctx.Done() // processes outside of the killed process group may still have the pipes open
		_, _ = stdin.Close(), stdout.Close()
	})
	return p, nil
}

// feed writes the chunks that it receives from p.input to stdin. If a write fails, feed closes
// p.unread and returns.
func (p *Pipe) feed(stdin io.WriteCloser) {
	defer stdin.Close()
	for chunk := range p.input {
		if _, err := stdin.Write(chunk); err != nil {
			close(p.unread)
			return
		}
	}
}

// read reads chunks of stdout and sends them to p.output.
func (p *Pipe) read(ctx context.Context, stdout io.Reader) {
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

// Write adds a line to the command's input. It returns false if the caller should write no
// further lines, because the command no longer reads or emit has returned false.
func (p *Pipe) Write(line []byte) bool {
	p.chunk = append(append(p.chunk, line...), '\n')
	return len(p.chunk) < pipeChunk || p.flush()
}

// flush sends p.chunk to feed, and emits lines while feed is busy. It returns false if the
// command no longer reads or emit has returned false.
func (p *Pipe) flush() bool {
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

// emitLines emits the lines of a chunk of stdout. It returns false if emit returns false.
func (p *Pipe) emitLines(chunk []byte) bool {
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

// Stopped reports whether emit has returned false.
func (p *Pipe) Stopped() bool { return p.stopped }

// Finish closes stdin, emits the rest of the output, and waits for the command. It returns an
// *exec.ExitError if the command failed, and nil if emit has returned false. After Finish, only
// End may be called.
func (p *Pipe) Finish() error {
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
	return err
}

// End kills the command and its child processes if they still run. It waits for the command and
// for the goroutines of the Pipe.
func (p *Pipe) End() {
	p.cancel()
	if !p.closed {
		close(p.input)
	}
	p.transfer.Wait()
	if !p.waited {
		_ = p.command.Wait() // fails because the command was killed
	}
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) // kills child processes that still run
}

// Tail is a writer that stores the last bytes that were written to it (see tailBytes).
type Tail struct{ end []byte }

// Write implements io.Writer. It never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.end = append(t.end, b...)
	if len(t.end) > 2*tailBytes {
		t.end = append(t.end[:0], t.end[len(t.end)-tailBytes:]...)
	}
	return len(b), nil
}

// String returns the stored bytes, without leading and trailing space.
func (t *Tail) String() string { return strings.TrimSpace(string(t.end)) }

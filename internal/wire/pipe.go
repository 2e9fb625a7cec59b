package wire

import (
	"context"
	"io"
	"sync"
)

// pipeDepth is the number of messages that a Pipe buffers in each direction.
const pipeDepth = 64

// Pipe connects a driver and an executor in one process. Messages are not copied, so a sender
// must not change a message after Send. After one side has called CloseSend, the other side
// receives the earlier messages, and then io.EOF. After ctx has ended, Send and Recv return
// io.EOF instead of blocking.
func Pipe(ctx context.Context) (DriverSide, ExecutorSide) {
	down := &direction[*DriverMessage]{messages: make(chan *DriverMessage, pipeDepth), closed: make(chan struct{})}
	up := &direction[*ExecutorMessage]{messages: make(chan *ExecutorMessage, pipeDepth), closed: make(chan struct{})}
	return &pipeEnd[*DriverMessage, *ExecutorMessage]{ctx: ctx, out: down, in: up},
		&pipeEnd[*ExecutorMessage, *DriverMessage]{ctx: ctx, out: up, in: down}
}

type direction[M any] struct {
	messages chan M
	once     sync.Once
	closed   chan struct{} // closed by CloseSend of the sending side
}

type pipeEnd[Out, In any] struct {
	ctx context.Context
	out *direction[Out]
	in  *direction[In]
}

// Send sends a message. It fails with io.EOF if the other side has called CloseSend.
func (p *pipeEnd[Out, In]) Send(message Out) error {
	select {
	case <-p.in.closed:
		return io.EOF
	default:
	}
	select {
	case p.out.messages <- message:
		return nil
	case <-p.in.closed:
		return io.EOF
	case <-p.ctx.Done():
		return io.EOF
	}
}

func (p *pipeEnd[Out, In]) Recv() (In, error) {
	select {
	case message := <-p.in.messages:
		return message, nil
	case <-p.in.closed:
	case <-p.ctx.Done():
	}
	select {
	case message := <-p.in.messages:
		return message, nil
	default:
		var zero In
		return zero, io.EOF
	}
}

// CloseSend ends the messages of this side.
func (p *pipeEnd[Out, In]) CloseSend() error {
	p.out.once.Do(func() { close(p.out.closed) })
	return nil
}

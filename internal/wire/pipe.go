package wire

import (
	"context"
	"io"
)

// pipeDepth is how many messages one side may be ahead of the other.
const pipeDepth = 64

// Pipe connects a driver and an executor of the same process. Messages are
// handed over as they are: neither side changes one after it was sent. Both
// sides end with io.EOF when ctx does.
func Pipe(ctx context.Context) (DriverSide, ExecutorSide) {
	down := make(chan *DriverMessage, pipeDepth)
	up := make(chan *ExecutorMessage, pipeDepth)
	return &pipeEnd[*DriverMessage, *ExecutorMessage]{ctx: ctx, out: down, in: up},
		&pipeEnd[*ExecutorMessage, *DriverMessage]{ctx: ctx, out: up, in: down}
}

type pipeEnd[Out, In any] struct {
	ctx context.Context
	out chan<- Out
	in  <-chan In
}

func (p *pipeEnd[Out, In]) Send(message Out) error {
	select {
	case p.out <- message:
		return nil
	case <-p.ctx.Done():
		return io.EOF
	}
}

func (p *pipeEnd[Out, In]) Recv() (In, error) {
	select {
	case message := <-p.in:
		return message, nil
	case <-p.ctx.Done():
		var none In
		return none, io.EOF
	}
}

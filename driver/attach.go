package driver

import (
	"context"
	"errors"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	// inboxDepth is how many events may wait for the event loop before those who
	// bring more wait too: one of each executor of a large application.
	inboxDepth = 16 << 10
	// turnEvents bounds the events of one turn, so that the first of many need
	// not wait for what follows from the last. Four times as many cost more: what
	// they have launched at once falls out of the processor's cache.
	turnEvents = 1 << 8
)

// event is what reaches the event loop: a message of an executor's stream, or
// anything else as a call.
type event struct {
	link    *link
	message *wire.ExecutorMessage
	call    func(*loop)
}

// link is the driver's end of one stream. The event loop knows to which
// executor it belongs once that has registered.
type link struct {
	out      *outbox
	executor *executor // the event loop's; nil before registration and after the loss
}

var errNotRegistering = errors.New("an executor's first message must register it")

// Attach serves one executor over a stream until that ends, the driver stops,
// or the driver takes the executor for lost. The stream's Recv must return
// when ctx ends or, as gRPC's does, once Attach has returned.
func (d *Driver) Attach(ctx context.Context, stream wire.DriverSide) error {
	if closer, ok := stream.(interface{ CloseSend() error }); ok {
		defer func() { _ = closer.CloseSend() }()
	}
	out := newOutbox()
	if !d.addStream(out) {
		return ErrStopped
	}
	defer d.removeStream(out)
	first, err := stream.Recv()
	if err == nil && first.GetRegister() == nil {
		err = errNotRegistering
	}
	if err != nil {
		return err
	}
	l := &link{out: out}
	if !d.post(event{link: l, message: first}) {
		return ErrStopped
	}
	d.streams.Go(func() {
		for {
			message, err := stream.Recv()
			if err != nil {
				d.do(func(loop *loop) { loop.streamEnded(l, err) })
				return
			}
			if !d.post(event{link: l, message: message}) {
				return
			}
		}
	})
	defer context.AfterFunc(ctx, func() { out.close(context.Cause(ctx)) })()
	if err := out.drain(stream); err != nil {
		d.do(func(loop *loop) { loop.streamEnded(l, err) })
		return err
	}
	return nil
}

// addStream notes a stream, whose outbox is closed when the event loop ends.
func (d *Driver) addStream(out *outbox) bool {
	d.streams.Lock()
	defer d.streams.Unlock()
	if d.streams.closed {
		return false
	}
	d.streams.Add(1)
	d.streams.open[out] = struct{}{}
	return true
}

func (d *Driver) removeStream(out *outbox) {
	d.streams.Lock()
	defer d.streams.Unlock()
	delete(d.streams.open, out)
	d.streams.Done()
}

// closeStreams has all streams end, once nobody puts anything in any more.
func (d *Driver) closeStreams() {
	d.streams.Lock()
	defer d.streams.Unlock()
	for out := range d.streams.open {
		out.close(ErrStopped)
	}
}

// AttachLocal runs an executor in this process: serve gets the executor's end
// of a pipe and a context that ends with the pipe, as executorbackend.Serve
// wants it. AttachLocal returns what serve did, after both ends are done.
func (d *Driver) AttachLocal(ctx context.Context, serve func(context.Context, wire.ExecutorSide) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	driverSide, executorSide := wire.Pipe(ctx)
	var attached sync.WaitGroup
	attached.Go(func() {
		// It returns when the executor has left, or the driver given it up.
		defer cancel()
		_ = d.Attach(ctx, driverSide)
	})
	err := serve(ctx, executorSide)
	cancel()
	attached.Wait()
	return err
}

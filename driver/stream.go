package driver

import (
	"context"
	"errors"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// executorStream is the driver's end of one executor's stream.
type executorStream struct {
	mailbox  *mailbox
	executor *executor // used by the event loop only; nil before the executor registers and after it is lost
}

var errNotRegistering = errors.New("an executor's first message must register it")

// Attach serves one executor over a stream. It returns when the stream ends, the driver stops,
// or the driver considers the executor lost. stream.Recv must return when ctx ends or when
// Attach has returned; the Recv of a gRPC stream returns when its handler has.
func (d *Driver) Attach(ctx context.Context, stream wire.DriverSide) error {
	if closer, ok := stream.(interface{ CloseSend() error }); ok {
		defer func() { _ = closer.CloseSend() }()
	}
	mailbox := newMailbox()
	if !d.addStream(mailbox) {
		return ErrStopped
	}
	defer d.removeStream(mailbox)
	first, err := stream.Recv()
	if err == nil && first.GetRegister() == nil {
		err = errNotRegistering
	}
	if err != nil {
		return err
	}
	from := &executorStream{mailbox: mailbox}
	if !d.post(event{stream: from, message: first}) {
		return ErrStopped
	}
	d.streams.Go(func() {
		for {
			message, err := stream.Recv()
			if err != nil {
				d.do(func(l *loop) { l.streamEnded(from, err) })
				return
			}
			if !d.post(event{stream: from, message: message}) {
				return
			}
		}
	})
	defer context.AfterFunc(ctx, func() { mailbox.close(context.Cause(ctx)) })()
	if err := mailbox.drain(stream); err != nil {
		d.do(func(l *loop) { l.streamEnded(from, err) })
		return err
	}
	return nil
}

// addStream adds the mailbox of a stream. It returns false if the driver has stopped.
func (d *Driver) addStream(mailbox *mailbox) bool {
	d.streams.Lock()
	defer d.streams.Unlock()
	if d.streams.closed {
		return false
	}
	d.streams.Add(1)
	d.streams.open[mailbox] = struct{}{}
	return true
}

func (d *Driver) removeStream(mailbox *mailbox) {
	d.streams.Lock()
	defer d.streams.Unlock()
	delete(d.streams.open, mailbox)
	d.streams.Done()
}

// closeStreams ends all streams. It is called after the event loop has ended, because the loop
// puts messages into the mailboxes until then.
func (d *Driver) closeStreams() {
	d.streams.Lock()
	defer d.streams.Unlock()
	for mailbox := range d.streams.open {
		mailbox.close(ErrStopped)
	}
}

// AttachLocal runs an executor in this process. It calls serve with the executor's end of a pipe
// and a context that ends with the pipe, as required by executorbackend.Serve. It returns
// serve's error when serve has returned and the driver has left its end of the pipe.
func (d *Driver) AttachLocal(ctx context.Context, serve func(context.Context, wire.ExecutorSide) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	driverSide, executorSide := wire.Pipe(ctx)
	var attached sync.WaitGroup
	attached.Go(func() {
		defer cancel()
		_ = d.Attach(ctx, driverSide)
	})
	err := serve(ctx, executorSide)
	cancel()
	attached.Wait()
	return err
}

package master

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// streams are the open streams of workers or of applications, by id. Only the term's event
// loop uses them.
type streams[Order proto.Message] map[string]*outbox[Order]

var errReplaced = status.Error(codes.Aborted, "a newer stream has taken this one's place")

// handlers are called by the event loop for the messages that a stream receives.
type handlers[In any, Order proto.Message] struct {
	streams streams[Order]
	// attach is called for the first message of a stream. If it fails, the peer must not
	// retry.
	attach  func(now time.Time, first In) (id string, err error)
	receive func(now time.Time, id string, out *outbox[Order], message In) // called for each message, including the first
	detach  func(now time.Time, id string)
}

// serve passes received messages to h, and sends orders, until the stream ends or the same
// worker or application opens a new stream.
func serve[In any, Order proto.Message](t *term, stream interface {
	Context() context.Context
	Send(Order) error
	Recv() (In, error)
}, first In, h handlers[In, Order]) error {
	out := newOutbox[Order]()
	var id string
	var refusal error
	err := t.commit(stream.Context(), func(now time.Time) {
		if id, refusal = h.attach(now, first); refusal != nil {
			return
		}
		if earlier := h.streams[id]; earlier != nil {
			earlier.end(errReplaced)
		}
		h.streams[id] = out
		h.receive(now, id, out, first)
	})
	defer t.post(func(now time.Time) {
		if h.streams[id] == out {
			delete(h.streams, id)
			h.detach(now, id)
		}
	})
	switch {
	case err != nil:
		return err
	case refusal != nil:
		return status.Error(codes.InvalidArgument, refusal.Error())
	}
	ctx, end := context.WithCancelCause(stream.Context())
	defer end(nil)
	// This goroutine ends when the stream ends, which is when the gRPC handler returns.
	go func() {
		for {
			message, err := stream.Recv()
			if err != nil {
				end(err)
				return
			}
			t.post(func(now time.Time) {
				if h.streams[id] == out {
					h.receive(now, id, out, message)
				}
			})
		}
	}()
	for {
		order, over, err := out.take(ctx)
		if !over {
			err = stream.Send(order)
		} else if errors.Is(err, io.EOF) {
			return nil
		}
		if over || err != nil {
			return err
		}
	}
}

// outbox has the next message (order) to send on a stream. New orders are merged into this
// message, so at most one message waits if the peer is slow.
type outbox[Order proto.Message] struct {
	welcomed bool          // whether the reply to the peer's hello was pushed; only the event loop uses it
	ready    chan struct{} // has an element if take has something to return

	mu         sync.Mutex
	pending    Order
	hasPending bool
	over       bool  // the stream ends after the pending message
	err        error // error with which the stream ends; nil means the status OK
}

func newOutbox[Order proto.Message]() *outbox[Order] {
	return &outbox[Order]{ready: make(chan struct{}, 1)}
}

func (o *outbox[Order]) wake() {
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// push adds an order. The caller must not use the order afterwards.
func (o *outbox[Order]) push(order Order) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return
	}
	if o.hasPending {
		proto.Merge(o.pending, order)
	} else {
		o.pending, o.hasPending = order, true
	}
	o.wake()
}

// end ends the stream with err after the pending order was sent. nil means the status OK.
func (o *outbox[Order]) end(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over, o.err = true, err
		o.wake()
	}
}

// take waits for the next order. over reports that the stream must end; err is then the error
// with which it ends.
func (o *outbox[Order]) take(ctx context.Context) (order Order, over bool, err error) {
	for {
		o.mu.Lock()
		switch {
		case o.hasPending:
			order = o.pending
			var zero Order
			o.pending, o.hasPending = zero, false
			if o.over {
				o.wake()
			}
			o.mu.Unlock()
			return order, false, nil
		case o.over:
			o.mu.Unlock()
			return order, true, o.err
		}
		o.mu.Unlock()
		select {
		case <-ctx.Done():
			return order, true, context.Cause(ctx)
		case <-o.ready:
		}
	}
}

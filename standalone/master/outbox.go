package master

import (
	"context"
	"sync"

	"google.golang.org/protobuf/proto"
)

// outbox holds what a stream is to send. Orders that wait are merged into one, so
// a peer that reads slowly has one message waiting, however long.
type outbox[T proto.Message] struct {
	ready chan struct{} // holds one token while there is something to take

	mu      sync.Mutex
	pending T
	some    bool
	over    bool
	err     error // with which the stream ends; nil for in order
}

func newOutbox[T proto.Message]() *outbox[T] { return &outbox[T]{ready: make(chan struct{}, 1)} }

func (o *outbox[T]) wake() {
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// push adds an order, which belongs to the outbox from then on.
func (o *outbox[T]) push(order T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return
	}
	if o.some {
		proto.Merge(o.pending, order)
	} else {
		o.pending, o.some = order, true
	}
	o.wake()
}

// end has the stream end once what waits has been sent.
func (o *outbox[T]) end(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over, o.err = true, err
		o.wake()
	}
}

// take waits for what is to be sent next. Where there is nothing more, over is
// set, and the error is that with which the stream ends.
func (o *outbox[T]) take(ctx context.Context) (order T, over bool, err error) {
	for {
		o.mu.Lock()
		switch {
		case o.some:
			order = o.pending
			var none T
			o.pending, o.some = none, false
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

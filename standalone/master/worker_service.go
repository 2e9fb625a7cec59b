package master

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

var errReplaced = status.Error(codes.Aborted, "a newer stream has taken this one's place")

// workerService is a master as its workers see it.
type workerService struct {
	protocol.UnimplementedWorkerServer
	master *Master
}

func (s *workerService) Attach(stream grpc.BidiStreamingServer[protocol.WorkerMessage, protocol.WorkerOrder]) error {
	t, err := s.master.leader()
	if err != nil {
		return err
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	hello := first.GetHello()
	if hello == nil {
		return status.Error(codes.InvalidArgument, "a worker's first message must be its hello")
	}
	id := hello.GetWorkerId()
	out := newOutbox[*protocol.WorkerOrder]()
	var refusal error
	err = t.ask(stream.Context(), func(now time.Time) {
		if refusal = t.cluster.AttachWorker(now, hello); refusal != nil {
			return
		}
		if before := t.workers[id]; before != nil {
			before.end(errReplaced)
		}
		t.workers[id], t.newWorkers[id] = out, true
	})
	defer t.tell(func(now time.Time) {
		if t.workers[id] == out {
			delete(t.workers, id)
			delete(t.newWorkers, id)
			t.cluster.DetachWorker(now, id)
		}
	})
	switch {
	case err != nil:
		return err
	case refusal != nil:
		return status.Error(codes.InvalidArgument, refusal.Error())
	}
	return pump(stream.Context(), out, stream.Send, stream.Recv, func(message *protocol.WorkerMessage) {
		t.tell(func(now time.Time) {
			if t.workers[id] == out {
				t.hearWorker(now, id, message)
			}
		})
	})
}

func (t *term) hearWorker(now time.Time, id string, message *protocol.WorkerMessage) {
	switch {
	case message.GetReport() != nil:
		t.cluster.WorkerReport(now, id, message.GetReport())
	case message.GetDecommissioning() != nil:
		var deadline time.Time
		if at := message.GetDecommissioning().GetDeadline(); at != 0 {
			deadline = time.Unix(0, at)
		}
		t.cluster.WorkerDecommissioning(now, id, message.GetDecommissioning().GetReason(), deadline)
	case message.GetLeaving() != nil:
		t.cluster.WorkerLeaving(now, id)
	default:
		t.cluster.Heartbeat(now, id)
	}
}

// pump sends what the outbox has, and hands on what is received, until either
// ends. It returns what the stream ends with.
func pump[In, Out any](ctx context.Context, out interface {
	take(context.Context) (Out, bool, error)
}, send func(Out) error, receive func() (In, error), hear func(In)) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	// It ends with the stream, which ends when the handler returns.
	go func() {
		for {
			message, err := receive()
			if err != nil {
				end(err)
				return
			}
			hear(message)
		}
	}()
	for {
		order, over, err := out.take(ctx)
		if over {
			return err
		}
		if err := send(order); err != nil {
			return err
		}
	}
}

package master

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// workerService is the gRPC service that workers call.
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
	if first.GetHello() == nil {
		return status.Error(codes.InvalidArgument, "a worker's first message must be its hello")
	}
	return serve(t, stream, first, handlers[*protocol.WorkerMessage, *protocol.WorkerOrder]{
		streams: t.workers,
		attach: func(now time.Time, first *protocol.WorkerMessage) (string, error) {
			return first.GetHello().GetWorkerId(), t.cluster.AttachWorker(now, first.GetHello())
		},
		receive: t.receiveFromWorker,
		detach:  t.cluster.DetachWorker,
	})
}

func (t *term) receiveFromWorker(now time.Time, id string, _ *outbox[*protocol.WorkerOrder], message *protocol.WorkerMessage) {
	switch {
	case message.GetReport() != nil:
		t.cluster.WorkerReport(now, id, message.GetReport())
	case message.GetDecommissioning() != nil:
		var deadline time.Time
		if at := message.GetDecommissioning().GetDeadline(); at != 0 {
			deadline = time.Unix(0, at)
		}
		t.cluster.WorkerDecommissioning(now, id, message.GetDecommissioning().GetReason(), deadline)
	case message.GetUnregister() != nil:
		t.cluster.UnregisterWorker(now, id)
	default:
		t.cluster.Heartbeat(now, id)
	}
}

package master

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// applicationService is the gRPC service that applications call.
type applicationService struct {
	protocol.UnimplementedApplicationServer
	master *Master
}

func (s *applicationService) Attach(stream grpc.BidiStreamingServer[protocol.ApplicationMessage, protocol.ApplicationOrder]) error {
	t, err := s.master.leader()
	if err != nil {
		return err
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if first.GetHello() == nil {
		return status.Error(codes.InvalidArgument, "an application's first message must have its hello")
	}
	return serve(t, stream, first, handlers[*protocol.ApplicationMessage, *protocol.ApplicationOrder]{
		streams: t.applications,
		attach: func(now time.Time, first *protocol.ApplicationMessage) (string, error) {
			return t.cluster.AttachApplication(now, first.GetHello())
		},
		receive: t.receiveFromApplication,
		detach:  t.cluster.DetachApplication,
	})
}

func (t *term) receiveFromApplication(now time.Time, id string, out *outbox[*protocol.ApplicationOrder], message *protocol.ApplicationMessage) {
	if message.GetAcknowledged() > 0 {
		t.cluster.Acknowledge(id, message.GetAcknowledged())
	}
	t.cluster.ExecutorsRegistered(id, message.GetRegistered())
	t.cluster.KillExecutors(id, message.GetKills())
	if request := message.GetRequest(); request != nil {
		if err := t.cluster.Request(id, request); err != nil {
			out.end(status.Error(codes.InvalidArgument, err.Error()))
			return
		}
	}
	if finish := message.GetFinish(); finish != nil {
		t.cluster.Finish(now, id, finish)
	}
}

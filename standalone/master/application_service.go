package master

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// applicationService is a master as applications see it.
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
	hello := first.GetHello()
	if hello == nil {
		return status.Error(codes.InvalidArgument, "an application's first message must have its hello")
	}
	out := newOutbox[*protocol.ApplicationOrder]()
	var id string
	var refusal error
	err = t.ask(stream.Context(), func(now time.Time) {
		if id, refusal = t.cluster.AttachApplication(now, hello); refusal != nil {
			return
		}
		if before := t.applications[id]; before != nil {
			before.end(errReplaced)
		}
		t.applications[id], t.newApplications[id] = out, true
		t.hearApplication(now, id, out, first)
	})
	defer t.tell(func(now time.Time) {
		if t.applications[id] == out {
			delete(t.applications, id)
			delete(t.newApplications, id)
			t.cluster.DetachApplication(now, id)
		}
	})
	switch {
	case err != nil:
		return err
	case refusal != nil:
		return status.Error(codes.InvalidArgument, refusal.Error())
	}
	err = pump(stream.Context(), out, stream.Send, stream.Recv, func(message *protocol.ApplicationMessage) {
		t.tell(func(now time.Time) {
			if t.applications[id] == out {
				t.hearApplication(now, id, out, message)
			}
		})
	})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (t *term) hearApplication(now time.Time, id string, out *outbox[*protocol.ApplicationOrder], message *protocol.ApplicationMessage) {
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

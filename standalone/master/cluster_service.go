package master

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// clusterService is the gRPC service for clients, which submit, kill and observe drivers and
// applications.
type clusterService struct {
	protocol.UnimplementedClusterServer
	master *Master
}

func (s *clusterService) SubmitDriver(ctx context.Context, request *protocol.SubmitDriverRequest) (*protocol.DriverReply, error) {
	t, err := s.master.leader()
	if err != nil {
		return nil, err
	}
	description := request.GetDescription()
	for _, file := range append([]*protocol.File{description.GetProgram()}, description.GetFiles()...) {
		if file != nil && !s.master.files.touch(file.GetSha256()) {
			return nil, status.Errorf(codes.FailedPrecondition, "the content of %s is not at this master: upload it first", file.GetName())
		}
	}
	var reply *protocol.DriverReply
	var refusal error
	if err := t.commit(ctx, func(now time.Time) { reply, refusal = t.cluster.SubmitDriver(now, request) }); err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, status.Error(codes.InvalidArgument, refusal.Error())
	}
	return reply, nil
}

func (s *clusterService) DriverStatus(ctx context.Context, request *protocol.DriverRequest) (*protocol.DriverReply, error) {
	return s.callForDriver(request, func(t *term, reply **protocol.DriverReply) error {
		return t.query(ctx, func(time.Time) { *reply = t.cluster.DriverStatus(request.GetDriverId()) })
	})
}

func (s *clusterService) KillDriver(ctx context.Context, request *protocol.DriverRequest) (*protocol.DriverReply, error) {
	return s.callForDriver(request, func(t *term, reply **protocol.DriverReply) error {
		return t.commit(ctx, func(now time.Time) { *reply = t.cluster.KillDriver(now, request.GetDriverId()) })
	})
}

func (s *clusterService) callForDriver(request *protocol.DriverRequest,
	ask func(*term, **protocol.DriverReply) error) (*protocol.DriverReply, error) {
	t, err := s.master.leader()
	if err != nil {
		return nil, err
	}
	var reply *protocol.DriverReply
	if err := ask(t, &reply); err != nil {
		return nil, err // the event loop may still handle the call
	}
	if reply == nil {
		return nil, status.Errorf(codes.NotFound, "the master knows no driver %q", request.GetDriverId())
	}
	return reply, nil
}

func (s *clusterService) KillApplication(ctx context.Context, request *protocol.ApplicationRequest) (*protocol.KillApplicationReply, error) {
	t, err := s.master.leader()
	if err != nil {
		return nil, err
	}
	var known bool
	err = t.commit(ctx, func(now time.Time) {
		known = t.cluster.KillApplication(now, request.GetApplicationId(), "it was killed at the master")
	})
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, status.Errorf(codes.NotFound, "the master has no application %q that is not over", request.GetApplicationId())
	}
	return &protocol.KillApplicationReply{}, nil
}

func (s *clusterService) DecommissionWorkers(ctx context.Context, request *protocol.DecommissionRequest) (*protocol.DecommissionReply, error) {
	t, err := s.master.leader()
	if err != nil {
		return nil, err
	}
	var asked int
	if err := t.commit(ctx, func(time.Time) {
		asked = t.cluster.Decommission(request.GetWorkerIds(), request.GetHosts())
	}); err != nil {
		return nil, err
	}
	return &protocol.DecommissionReply{Workers: uint32(asked)}, nil
}

func (s *clusterService) Status(ctx context.Context, _ *protocol.StatusRequest) (*protocol.StatusReply, error) {
	shown, err := s.master.Status(ctx)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(shown)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &protocol.StatusReply{Json: encoded}, nil
}

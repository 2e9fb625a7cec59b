package driver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// progressInterval is between two looks at how far the driver is, for the
// ApplicationMaster to tell the ResourceManager.
const progressInterval = time.Second

// managerService is a RemoteManager as its ApplicationMaster sees it.
type managerService struct {
	wire.UnimplementedManagerServer
	manager *RemoteManager
}

func (s *managerService) Manage(stream grpc.BidiStreamingServer[wire.ManagerReport, wire.ManagerOrder]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if first.GetHello() == nil {
		return status.Error(codes.InvalidArgument, "an ApplicationMaster's first report must be its hello")
	}
	ctx, end := context.WithCancelCause(stream.Context())
	defer end(nil)
	link, err := s.manager.attach(first.GetHello(), end)
	if err != nil {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	// It ends with the stream, which ends when this method returns.
	go func() {
		for {
			report, err := stream.Recv()
			if err != nil {
				end(err)
				return
			}
			s.manager.heard(link, report)
		}
	}()
	err = s.manager.serve(ctx, link, stream)
	s.manager.detach(link)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, errReplaced):
		return status.Error(codes.Aborted, err.Error())
	}
	return err
}

// serve sends what there is for the ApplicationMaster until the stream ends.
func (m *RemoteManager) serve(ctx context.Context, link *managerLink, stream interface {
	Send(*wire.ManagerOrder) error
}) error {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	var told float32
	for {
		var order *wire.ManagerOrder
		var snapshot *Status
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-link.ready:
			wanted := false
			if order, wanted = m.take(link); wanted {
				now := m.driver.Status()
				snapshot = &now
			}
		case <-ticker.C:
			if progress := m.driver.Progress(); progress != told {
				told = progress
				order = &wire.ManagerOrder{Progress: progress}
			}
		}
		if order == nil {
			continue
		}
		if snapshot != nil {
			told = snapshot.Totals.Progress()
			var err error
			if order.Status, err = json.Marshal(snapshot); err != nil {
				return err
			}
		}
		order.Progress = told
		if err := stream.Send(order); err != nil {
			return err
		}
	}
}

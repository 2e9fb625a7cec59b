package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/ui"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// progressInterval is how often the driver's progress is sent, if it has changed.
const progressInterval = time.Second

// Register adds the gRPC service that ApplicationMasters call to server. Call it in the function
// driver.Options.Services.
func (m *Manager) Register(d *driver.Driver, server grpc.ServiceRegistrar) {
	m.driver = d
	wire.RegisterManagerServer(server, &managerService{manager: m})
}

type managerService struct {
	wire.UnimplementedManagerServer
	manager *Manager
}

// Manage serves an ApplicationMaster until its stream ends or a newer stream replaces it.
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
	// The goroutine ends when this method returns, because that ends the stream.
	go func() {
		for {
			report, err := stream.Recv()
			if err != nil {
				end(err)
				return
			}
			s.manager.handle(link, report)
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

// serve sends orders, with the driver's status and progress, and takes the profiles that the
// ApplicationMaster requests. It returns when ctx ends or a message cannot be sent.
func (m *Manager) serve(ctx context.Context, link *managerStream, stream interface {
	Send(*wire.ManagerOrder) error
}) error {
	var profiling sync.WaitGroup
	defer profiling.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	var sent float32 // latest progress that was sent
	for {
		var order *wire.ManagerOrder
		var driverStatus *driver.Status
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-link.wake:
			var withStatus, withSnapshot bool
			order, withStatus, withSnapshot = m.takePending(link)
			if recorder := m.driver.Events(); withSnapshot && recorder != nil {
				var err error
				if order.Snapshot, err = encodeSnapshot(recorder.Snapshot()); err != nil {
					return err
				}
			}
			if withStatus {
				current := m.driver.Status()
				if m.hasFinished() {
					current.Costs = ui.Costs(m.driver.Events().Newest(), time.Now())
				}
				driverStatus = &current
			}
			for _, request := range m.takeProfileRequests(link) {
				profiling.Go(func() { m.takeProfile(ctx, link, request) })
			}
		case <-ticker.C:
			if progress := m.driver.Progress(); progress != sent {
				sent = progress
				order = &wire.ManagerOrder{Progress: progress}
			}
		}
		if order == nil {
			continue
		}
		if driverStatus != nil {
			sent = driverStatus.Totals.Progress()
			var err error
			if order.Status, err = json.Marshal(driverStatus); err != nil {
				return err
			}
		}
		order.Progress = sent
		if err := stream.Send(order); err != nil {
			return err
		}
	}
}

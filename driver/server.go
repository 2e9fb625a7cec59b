package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	// Read buffers are one for each executor, and write buffers are shared among
	// those who write: ten thousand executors are to fit into a modest driver.
	readBufferBytes  = 4 << 10
	writeBufferBytes = 8 << 10
	// windowBytes bounds what one executor has on its way that the driver has not
	// read. It is fixed, because gRPC's estimation of the bandwidth costs a ping
	// for nearly every message.
	windowBytes = 1 << 20
	// maxReceive is well above what executors put into one message.
	maxReceive = 4 * wire.MaxPart
	// minPing is how often an executor may ask whether the driver is there.
	minPing = 5 * time.Second
)

// listen opens the driver's port and serves executors on it.
func (d *Driver) listen() error {
	listener, err := net.Listen("tcp", d.options.BindAddress)
	if err != nil {
		return fmt.Errorf("the driver cannot listen on %q: %w", d.options.BindAddress, err)
	}
	// A dead executor is noticed by its heartbeats. Pings find dead connections
	// sooner, and keep middle boxes from forgetting them.
	quarter := max(config.NetworkTimeout.In(d.options.Config)/4, time.Second)
	d.listener = listener
	d.server = grpc.NewServer(append(d.options.Identity.ServerOptions(),
		grpc.ReadBufferSize(readBufferBytes),
		grpc.WriteBufferSize(writeBufferBytes),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(windowBytes),
		grpc.MaxRecvMsgSize(maxReceive),
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: quarter, Timeout: quarter}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	)...)
	wire.RegisterDriverServer(d.server, &service{driver: d})
	if d.options.Services != nil {
		d.options.Services(d, d.server)
	}
	d.serving.Go(func() {
		if err := d.server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			d.options.Logger.Error("the driver takes no more executors", "address", d.Addr(), "error", err)
		}
	})
	return nil
}

// service is the driver as its executors see it.
type service struct {
	wire.UnimplementedDriverServer
	driver *Driver
}

func (s *service) Bootstrap(_ context.Context, request *wire.BootstrapRequest) (*wire.BootstrapReply, error) {
	options := &s.driver.options
	resources, known := s.driver.resourcesOf(int(request.GetResourceProfile()))
	if !known {
		return nil, status.Errorf(codes.PermissionDenied, "resource profile %d is unknown", request.GetResourceProfile())
	}
	return &wire.BootstrapReply{
		ApplicationId: options.ApplicationID,
		User:          options.User,
		Properties:    options.Config.Map(),
		Hadoop:        options.Hadoop,
		Resources:     resources,
	}, nil
}

func (s *service) Attach(stream grpc.BidiStreamingServer[wire.ExecutorMessage, wire.DriverMessage]) error {
	err := s.driver.Attach(stream.Context(), stream)
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, errNotRegistering):
		return status.Error(codes.InvalidArgument, err.Error())
	}
	// Unavailable is what an executor takes for a connection that broke.
	return status.Error(codes.Aborted, err.Error())
}

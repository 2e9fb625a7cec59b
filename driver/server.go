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
	// The buffers are small to limit the memory of a driver with ten thousand executors. Each
	// connection has its own read buffer; write buffers are shared.
	readBufferBytes  = 4 << 10
	writeBufferBytes = 8 << 10
	// windowBytes is the HTTP/2 flow control window: how many bytes an executor may send before
	// the driver reads them. It is fixed, because gRPC's bandwidth estimation sends a ping for
	// nearly every message.
	windowBytes = 1 << 20
	// maxReceive is the largest accepted message in bytes. Executors send much smaller messages.
	maxReceive = 4 * wire.MaxPart
	// minPing is the shortest interval of keepalive pings that an executor may send.
	minPing = 5 * time.Second
)

// listen opens the driver's port and serves executors on it.
func (d *Driver) listen() error {
	listener, err := net.Listen("tcp", d.options.BindAddress)
	if err != nil {
		return fmt.Errorf("the driver cannot listen on %q: %w", d.options.BindAddress, err)
	}
	// Missing heartbeats detect dead executors. Keepalive pings detect dead connections sooner,
	// and prevent firewalls from closing idle connections.
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

// service implements the gRPC service of executors.
type service struct {
	wire.UnimplementedDriverServer
	driver *Driver
}

func (s *service) Bootstrap(_ context.Context, request *wire.BootstrapRequest) (*wire.BootstrapReply, error) {
	options := &s.driver.options
	resources, exists := s.driver.taskResources(int(request.GetResourceProfile()))
	if !exists {
		return nil, status.Errorf(codes.PermissionDenied, "resource profile %d is unknown", request.GetResourceProfile())
	}
	credentials, _ := ask(s.driver, func(l *loop) *wire.Credentials { return l.credentials })
	return &wire.BootstrapReply{
		ApplicationId: options.ApplicationID,
		User:          options.User,
		Properties:    options.Config.Map(),
		Hadoop:        options.Hadoop,
		Resources:     resources,
		Credentials:   credentials,
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
	// Not codes.Unavailable: for executors, that means a broken connection, and they reconnect.
	return status.Error(codes.Aborted, err.Error())
}

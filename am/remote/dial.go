package remote

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	// reachTimeout limits the time in which reach tries to connect.
	reachTimeout = 10 * time.Second
	// reachInterval is the time between two attempts to connect.
	reachInterval = 250 * time.Millisecond
	// minPing is the minimum interval of keepalive pings that gRPC allows.
	minPing = 10 * time.Second
)

var errNoAnswer = fmt.Errorf("no answer within %v", reachTimeout)

// dialer connects an ApplicationMaster to the driver.
type dialer struct {
	address string
	pass    *identity.Pass
	hello   *wire.ManagerHello
	ping    time.Duration // interval of keepalive pings, if it is longer than minPing; also the timeout of their answers
	dial    func(ctx context.Context, address string) (net.Conn, error)
}

// driverStream is one gRPC stream to the driver.
type driverStream struct {
	stream     grpc.BidiStreamingClient[wire.ManagerReport, wire.ManagerOrder]
	connection *grpc.ClientConn
	cancel     context.CancelFunc
	first      *wire.ManagerOrder // first message of the driver, the welcome
}

func (l *driverStream) close() {
	l.cancel()
	_ = l.connection.Close() // fails if the connection is already closed
}

// reach connects to the driver. It retries for reachTimeout. It fails at once if the driver refuses
// the connection or the ApplicationMaster. The error is a *DisconnectedError, or the cause of ctx.
func (d dialer) reach(ctx context.Context) (*driverStream, error) {
	deadline := time.Now().Add(reachTimeout)
	for {
		link, final, err := d.try(ctx, deadline)
		switch {
		case err == nil:
			return link, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case final || !time.Now().Add(reachInterval).Before(deadline): // the next attempt would only time out, and its error would replace err
			return nil, &DisconnectedError{address: d.address, cause: err}
		}
		select {
		case <-time.After(reachInterval):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try makes one attempt to connect. final reports that a retry would also fail.
func (d dialer) try(ctx context.Context, deadline time.Time) (_ *driverStream, final bool, err error) {
	var mu sync.Mutex
	var dialed error
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		connection, err := d.dial(ctx, address)
		mu.Lock()
		defer mu.Unlock()
		dialed = err
		return connection, err
	}
	connection, err := grpc.NewClient("passthrough:///"+d.address, append(d.pass.DialOptions(),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: max(d.ping, minPing), Timeout: d.ping}),
	)...)
	if err != nil {
		return nil, true, err
	}
	streaming, cancel := context.WithCancel(ctx)
	link := &driverStream{connection: connection, cancel: cancel}
	late := time.AfterFunc(time.Until(deadline), cancel)
	link.stream, err = wire.NewManagerClient(connection).Manage(streaming)
	if err == nil {
		_ = link.stream.Send(&wire.ManagerReport{Hello: d.hello}) // if this fails, Recv returns the error
		link.first, err = link.stream.Recv()
	}
	if err == nil && link.first.GetWelcome() == nil {
		err = status.Error(codes.InvalidArgument, "its first message is no welcome")
	}
	if !late.Stop() {
		err = errNoAnswer
	}
	if err == nil {
		return link, false, nil
	}
	link.close()
	mu.Lock()
	defer mu.Unlock()
	if dialed != nil {
		return nil, errors.Is(dialed, syscall.ECONNREFUSED), dialed
	}
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.Unauthenticated, codes.InvalidArgument, codes.Unimplemented:
		return nil, true, errors.New(status.Convert(err).Message())
	}
	return nil, false, err
}

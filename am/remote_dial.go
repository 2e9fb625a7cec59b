package am

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
	// reachWait is how long a driver is tried to be reached whose machine does
	// not answer.
	reachWait = 10 * time.Second
	// reachPause is between two tries.
	reachPause = 250 * time.Millisecond
	// leastPing is the least time between two questions whether the driver is
	// there; gRPC takes no less.
	leastPing = 10 * time.Second
)

var errNoAnswer = fmt.Errorf("no answer within %v", reachWait)

// dialer makes connections to the driver.
type dialer struct {
	address string
	pass    *identity.Pass
	hello   *wire.ManagerHello
	ping    time.Duration // of silence after which the driver's machine is asked whether it is there, and then to wait
	dial    func(ctx context.Context, address string) (net.Conn, error)
}

// link is one stream to the driver.
type link struct {
	stream     grpc.BidiStreamingClient[wire.ManagerReport, wire.ManagerOrder]
	connection *grpc.ClientConn
	cancel     context.CancelFunc
	first      *wire.ManagerOrder // with the welcome
}

func (l *link) close() {
	l.cancel()
	_ = l.connection.Close() // a second time is an error, and no harm
}

// reach makes a link. A machine that does not answer is tried again for a
// while; one that answers, and where the driver is not, is not. The error of a
// driver that is not there is a *disconnected.
func (d dialer) reach(ctx context.Context) (*link, error) {
	deadline := time.Now().Add(reachWait)
	for {
		link, gone, err := d.try(ctx, deadline)
		switch {
		case err == nil:
			return link, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case gone || !time.Now().Add(reachPause).Before(deadline): // a try without time would only hide why
			return nil, &disconnected{address: d.address, cause: err}
		}
		select {
		case <-time.After(reachPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try makes one attempt. gone tells of an error that another one cannot change.
func (d dialer) try(ctx context.Context, deadline time.Time) (made *link, gone bool, err error) {
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
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: max(d.ping, leastPing), Timeout: d.ping}),
	)...)
	if err != nil {
		return nil, true, err
	}
	streaming, cancel := context.WithCancel(ctx)
	link := &link{connection: connection, cancel: cancel}
	late := time.AfterFunc(time.Until(deadline), cancel)
	link.stream, err = wire.NewManagerClient(connection).Manage(streaming)
	if err == nil {
		// What goes wrong with sending shows in receiving.
		_ = link.stream.Send(&wire.ManagerReport{Hello: d.hello})
		link.first, err = link.stream.Recv()
	}
	if err == nil && link.first.GetWelcome() == nil {
		err = status.Error(codes.InvalidArgument, "it does not welcome an ApplicationMaster")
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

package executorbackend

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/block/transfer"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	bootstrapTries   = 3
	bootstrapTimeout = 30 * time.Second // time limit of one attempt to bootstrap
	bootstrapBackoff = time.Second      // wait before the second attempt; doubles before each later one

	// keepaliveTime is how long the connection must be idle before a keepalive ping is sent, and
	// how long the reply to the ping may take. The sum is half of the default of
	// network.timeout. That setting itself cannot be used, because the driver sends the settings
	// over this connection.
	keepaliveTime = 30 * time.Second

	// bufferBytes is the size of the connection's buffers. It is the size of a TLS record:
	// larger buffers cost memory in idle executors and are not faster. windowBytes is the HTTP/2
	// flow control window. It is fixed, because gRPC's bandwidth estimation sends a ping for
	// nearly every message.
	bufferBytes = 16 << 10
	windowBytes = 1 << 20

	// attachTimeout is how long an executor tries to register again after its connection broke.
	// The driver waits a little longer before it treats the executor as lost and has it killed.
	attachTimeout = 8 * time.Second
	attachBackoff = 100 * time.Millisecond // wait before the second attempt; doubles up to attachTimeout/8
)

// Run runs an executor process. It registers with the driver at the address host:port, with
// credentials that the driver made (pass), and returns nil when the driver stops the executor.
// If the connection breaks, it cancels its tasks and tries to register again. It returns an
// error if it cannot connect, if the driver ends the stream, or if ctx ends. If the cause has an
// exit code, the error is an *ExitError.
func Run(ctx context.Context, options Options, driver string, pass []byte) error {
	options = options.withDefaults()
	options.replaceable = true
	if !options.SharesProcess {
		if err := testDisk(options.directory); err != nil {
			return exitError(ExitLostDisk, "executor %s cannot write to its working directory: %w", options.ID, err)
		}
	}
	access, err := identity.ParsePass(pass)
	if err != nil {
		return &ExitError{Code: ExitUnableToConnect, Err: err}
	}
	connection, err := dial(driver, access)
	if err != nil {
		return exitError(ExitUnableToConnect, "connect to the driver at %s: %w", driver, err)
	}
	defer func() { _ = connection.Close() }()
	client := wire.NewDriverClient(connection)

	boot, err := bootstrap(ctx, client, options, driver)
	if err != nil {
		return err
	}
	if options.Config, err = config.FromMap(boot.GetProperties()); err != nil {
		return fmt.Errorf("the driver's configuration: %w", err)
	}
	if options.Resources == nil {
		if options.Resources, err = Discover(ctx, options.Config, boot.GetResources()); err != nil {
			return fmt.Errorf("executor %s: %w", options.ID, err)
		}
	}
	if options.PrepareTasks != nil {
		prepared, release, err := options.PrepareTasks(ctx, boot)
		if err != nil {
			return fmt.Errorf("prepare executor %s: %w", options.ID, err)
		}
		defer release()
		ctx = prepared
	}

	x := newExecutor(options)
	defer x.close()
	defer x.startMemoryWatch(ctx)()
	if options.SharesProcess {
		x.startServices(nil)
	} else {
		serving, err := dataPortOptions(options, access)
		if err != nil {
			return fmt.Errorf("executor %s: %w", options.ID, err)
		}
		port, err := openDataPort(ctx, options, driver, x.openBlock, serving)
		if err != nil {
			return fmt.Errorf("executor %s: %w", options.ID, err)
		}
		defer port.Close()
		x.dataAddress = port.Addr().String()
		peers := transfer.NewClient(serving)
		defer peers.Close()
		x.startServices(peers)
		defer x.broadcasts.Close() // before port.Close, which waits until requests for pieces end; broadcasts may still be fetching these pieces
	}
	return x.attach(ctx, client, driver)
}

// dial returns a client connection to the driver. The connection is established by the first
// call.
func dial(driver string, access *identity.Pass) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+driver, append(access.DialOptions(),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithReadBufferSize(bufferBytes),
		grpc.WithWriteBufferSize(bufferBytes),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTime}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: bootstrapBackoff / 4, Multiplier: 1.6, Jitter: 0.2, MaxDelay: bootstrapBackoff},
			MinConnectTimeout: bootstrapTimeout,
		}))...)
}

func bootstrap(ctx context.Context, client wire.DriverClient, options Options, driver string) (*wire.BootstrapReply, error) {
	began := time.Now()
	wait := bootstrapBackoff
	for try := 1; ; try++ {
		limited, cancel := context.WithTimeout(ctx, bootstrapTimeout)
		boot, err := client.Bootstrap(limited, &wire.BootstrapRequest{ExecutorId: options.ID, ResourceProfile: uint32(options.Profile)})
		cancel()
		switch {
		case err == nil:
			return boot, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case status.Code(err) == codes.Unauthenticated || status.Code(err) == codes.PermissionDenied:
			return nil, exitError(ExitRefused, "the driver at %s refuses executor %s: %w", driver, options.ID, err)
		case try == bootstrapTries:
			return nil, exitError(ExitUnableToConnect, "unable to connect to the driver at %s, tried %d times in %v: %w",
				driver, try, time.Since(began).Round(time.Millisecond), err)
		}
		options.Logger.Warn("no answer from the driver, trying again", "driver", driver, "try", try, "wait", wait, "error", err)
		select {
		case <-time.After(wait):
			wait *= 2
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// attach runs the executor over a stream to the driver, and over a new stream each time the
// connection breaks. For the driver, a new stream is a new executor with the same id, and the
// tasks of the old stream are retried elsewhere. So the executor cancels its tasks before it
// connects again.
func (x *executor) attach(ctx context.Context, client wire.DriverClient, driver string) error {
	x.instance = rand.Uint64() | 1
	var broken error // why the executor was disconnected; nil while it is registered
	var since time.Time
	wait := attachBackoff
	for {
		end := x.attachOnce(ctx, client, driver)
		if end.registered {
			broken = nil
		}
		if broken == nil {
			if !end.resumable || !connectionBroke(end.err) || ctx.Err() != nil {
				return end.err
			}
			broken, since, wait = end.err, time.Now(), attachBackoff
			x.options.Logger.Warn("the connection to the driver broke, joining again", "driver", driver, "error", end.err)
		} else if !connectionBroke(end.err) || time.Since(since) >= attachTimeout || ctx.Err() != nil {
			return exitError(ExitDisconnected, "%w; could not join again: %w", broken, end.err)
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, attachTimeout/8)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (x *executor) attachOnce(ctx context.Context, client wire.DriverClient, driver string) streamEnd {
	attached, closeStream := context.WithCancel(ctx)
	defer closeStream()
	stream, err := client.Attach(attached)
	if err != nil {
		return streamEnd{err: exitError(ExitUnableToConnect, "attach to the driver at %s: %w", driver, err), resumable: true}
	}
	return x.serve(ctx, stream, closeStream)
}

// connectionBroke reports whether a stream ended because its connection broke, so that a new
// connection may succeed. It returns false if the driver's host refuses connections, because
// then the driver process has ended.
func connectionBroke(err error) bool {
	var failed interface{ GRPCStatus() *status.Status }
	return errors.As(err, &failed) && failed.GRPCStatus().Code() == codes.Unavailable &&
		!strings.Contains(failed.GRPCStatus().Message(), "connection refused")
}

package executorbackend

import (
	"context"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	bootstrapTries   = 3
	bootstrapTimeout = 30 * time.Second // of one try
	bootstrapBackoff = time.Second      // before the second try; doubles after each

	// silence is after how long without a word from the driver its host is
	// asked for one, and how long it has for the answer. Both make up half of
	// network.timeout's default; the setting itself is the driver's to tell, and
	// is not known when the connection is made.
	silence = 30 * time.Second

	// Buffers are the connection's; there is one, and an idle executor should
	// cost little. A record of TLS has no more than these hold. Windows are fixed,
	// because gRPC's estimation of the bandwidth costs a ping for nearly every
	// message.
	bufferBytes = 16 << 10
	windowBytes = 1 << 20
)

// Run is an executor process: it joins the driver at host:port with the pass
// that the driver made, and serves until it is told to stop, which returns
// nil, or until the driver ends the stream or ctx ends. Where the connection
// breaks, what it runs is given up, and it joins again if it can. Errors that have an exit code
// of their own are of type *ExitError.
func Run(ctx context.Context, options Options, driver string, pass []byte) error {
	options = options.withDefaults()
	options.replaceable = true
	if !options.Shared {
		if err := testDisk(options.directory); err != nil {
			return exitError(ExitLostDisk, "executor %s cannot write to its working directory: %w", options.ID, err)
		}
	}
	access, err := identity.ParsePass(pass)
	if err != nil {
		return &ExitError{Code: ExitUnableToConnect, Err: err}
	}
	connection, err := grpc.NewClient("passthrough:///"+driver, append(access.DialOptions(),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithReadBufferSize(bufferBytes),
		grpc.WithWriteBufferSize(bufferBytes),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: silence, Timeout: silence}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: bootstrapBackoff / 4, Multiplier: 1.6, Jitter: 0.2, MaxDelay: bootstrapBackoff},
			MinConnectTimeout: bootstrapTimeout,
		}))...)
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
	if options.Prepare != nil {
		prepared, end, err := options.Prepare(ctx, boot)
		if err != nil {
			return fmt.Errorf("prepare executor %s: %w", options.ID, err)
		}
		defer end()
		ctx = prepared
	}

	life := newLife(options)
	defer life.blocks.Close()
	if !options.Shared {
		port, err := openDataPort(ctx, options, driver, access, life.blocks)
		if err != nil {
			return fmt.Errorf("executor %s: %w", options.ID, err)
		}
		defer port.Close()
		life.dataAddress = port.Addr().String()
	}
	return attach(ctx, client, options, driver, life)
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

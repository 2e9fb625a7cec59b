package executorbackend

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	// attachWait is how long an executor whose connection broke tries to join
	// again. The driver waits a little longer before it has it ended.
	attachWait    = 8 * time.Second
	attachBackoff = 100 * time.Millisecond // before the second try; doubles up to attachWait/8
)

// attach serves over a stream to the driver, and over further ones when it
// breaks. To the driver each is a new executor of the same id: it has given the
// tasks to others by then, so they are ended here first.
func attach(ctx context.Context, client wire.DriverClient, options Options, driver string, life *life) error {
	life.instance = rand.Uint64() | 1
	var broken error // why the executor was disconnected, until it is registered again
	var since time.Time
	wait := attachBackoff
	for {
		end := session(ctx, client, options, driver, life)
		if end.registered {
			broken = nil
		}
		if broken == nil {
			if !end.idle || !connectionBroke(end.err) || ctx.Err() != nil {
				return end.err
			}
			broken, since, wait = end.err, time.Now(), attachBackoff
			options.Logger.Warn("the connection to the driver broke, joining again", "driver", driver, "error", end.err)
		} else if !connectionBroke(end.err) || time.Since(since) >= attachWait || ctx.Err() != nil {
			return exitError(ExitDisconnected, "%w; could not join again: %w", broken, end.err)
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, attachWait/8)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// session serves over one stream.
func session(ctx context.Context, client wire.DriverClient, options Options, driver string, life *life) sessionEnd {
	attached, leave := context.WithCancel(ctx)
	defer leave()
	stream, err := client.Attach(attached)
	if err != nil {
		return sessionEnd{err: exitError(ExitUnableToConnect, "attach to the driver at %s: %w", driver, err), idle: true}
	}
	return serve(ctx, options, stream, leave, life)
}

// connectionBroke reports whether a stream ended for want of a connection.
// Where the driver's host says that nobody listens there, the driver is gone.
func connectionBroke(err error) bool {
	var said interface{ GRPCStatus() *status.Status }
	return errors.As(err, &said) && said.GRPCStatus().Code() == codes.Unavailable &&
		!strings.Contains(said.GRPCStatus().Message(), "connection refused")
}

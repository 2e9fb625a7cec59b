package ipc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/frame"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/pb"
)

// retryCall is one call of Client.Call. All its attempts have the same call id, by which
// the server's retry cache recognizes them.
type retryCall struct {
	callOptions
	client   *Client
	method   string
	id       int32
	began    time.Time
	address  string
	attempts int
	// failures is the number of failed attempts, without those after which decide returned
	// retryNow. It determines the next pause (see wait).
	failures int
	cause    error // why the previous attempt failed
}

// retryDecision is the action after a failed attempt.
type retryDecision int

const (
	giveUp   retryDecision = iota
	retryNow               // try again at once
	// tryNextAddress tries the next address, after a pause if all addresses have been tried.
	tryNextAddress
	retryAfterPause // try again after a pause
)

// run makes attempts until one succeeds or decide returns giveUp.
func (r *retryCall) run(ctx context.Context, request proto.Message) ([]byte, error) {
	for {
		r.attempts++
		message, err := r.frame(request)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		connection, address, err := r.client.connect(ctx)
		r.address = address
		var body []byte
		if err == nil {
			body, err = connection.roundTrip(ctx, r.id, message)
		}
		if err == nil {
			return body, nil
		}
		if ctx.Err() != nil {
			return nil, r.interrupted(ctx, err)
		}
		decision := r.decide(err, connection)
		if decision == tryNextAddress && connection != nil {
			r.client.failover(connection)
		}
		if decision == giveUp || !r.wait(ctx, decision, err) {
			return nil, r.interrupted(ctx, err)
		}
		r.cause = err
	}
}

// frame encodes the call's current attempt.
func (r *retryCall) frame(request proto.Message) ([]byte, error) {
	options := &r.client.options
	return frame.Append(nil, frame.RequestHeader(r.id, r.client.id, int32(r.attempts-1)), &pb.CallHeader{
		MethodName:      &r.method,
		ProtocolName:    &options.Protocol,
		ProtocolVersion: &options.ProtocolVersion,
	}, request)
}

// interrupted returns err if ctx has not ended. Otherwise it returns the context's error,
// together with the error of the last attempt that failed for another reason than the end
// of ctx.
func (r *retryCall) interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if errors.Is(err, ctx.Err()) {
		err = r.cause
	}
	if err == nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w (the try before failed: %w)", ctx.Err(), err)
}

// decide returns the action after an attempt that failed with err. connection is the connection
// that the attempt used; nil if the attempt could not connect.
func (r *retryCall) decide(err error, connection *connection) retryDecision {
	var lost *ConnectionError
	var remote *RemoteError
	switch {
	case errors.Is(err, ErrClosed):
		return giveUp
	case errors.As(err, &remote):
		switch {
		case remote.Class == StandbyException:
			return tryNextAddress
		case remote.Class == RetriableException || slices.Contains(r.client.options.Retriable, remote.Class):
			return retryAfterPause
		default:
			return giveUp
		}
	case errors.As(err, &lost):
		switch {
		case lost.Sent && !r.idempotent:
			return giveUp
		case errors.Is(err, errIdleConnection):
			return retryNow
		case connection != nil && !connection.alive():
			// The connection was lost. Stay with the address: the next attempt to connect
			// shows whether the server can still be reached.
			return retryAfterPause
		default:
			return tryNextAddress
		}
	default:
		return giveUp
	}
}

// wait pauses as decision requires, and reports whether to make another attempt. It returns
// false if ctx ends, or if the pause would end after RetryFor.
func (r *retryCall) wait(ctx context.Context, decision retryDecision, cause error) bool {
	options := &r.client.options
	if decision == retryNow {
		return true
	}
	r.failures++
	round := r.failures
	if decision == tryNextAddress {
		if r.failures%len(r.client.addresses) != 0 {
			return options.RetryFor >= 0
		}
		round = r.failures / len(r.client.addresses)
	}
	delay := options.RetryMaxDelay
	if doublings := round - 1; doublings < 30 {
		delay = min(options.RetryDelay<<doublings, options.RetryMaxDelay)
	}
	delay -= time.Duration(rand.Int64N(int64(delay)/2 + 1))
	if time.Since(r.began)+delay > options.RetryFor {
		return false
	}
	options.Logger.Info("call is tried again", "method", r.method, "address", r.address, "attempt", r.attempts, "pause", delay, "error", cause)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-r.client.ctx.Done():
		return true
	}
}

package allocator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// ResourceManager is the ResourceManager's interface for ApplicationMasters. *yarn.AMClient
// implements it.
type ResourceManager interface {
	Register(ctx context.Context, request yarn.RegisterRequest) (*yarn.RegisterResponse, error)
	Allocate(ctx context.Context, request yarn.AllocateRequest) (*yarn.AllocateResponse, error)
}

// heartbeats sends allocate calls to the ResourceManager. Each call contains the response id of the
// last answer.
type heartbeats struct {
	rm          ResourceManager
	maxFailures int // number of consecutive failures after which the application ends
	logger      *slog.Logger

	registered bool // registered with the current ResourceManager
	responseID int32
	// unanswered is the last heartbeat if it failed, otherwise nil. It must be repeated unchanged,
	// because a ResourceManager that has already processed it returns the same answer again
	// (ApplicationMasterService.allocate).
	unanswered *yarn.AllocateRequest
	failures   int // number of consecutive failed heartbeats and registrations
}

// errForgotten is the error of send if the ResourceManager has restarted and does not know the
// application.
var errForgotten = errors.New("the ResourceManager does not know this application any more, it must be registered again")

// register registers the application. If it is already registered, because the answer to an earlier
// call was lost, register returns nil and no error.
func (h *heartbeats) register(ctx context.Context, request yarn.RegisterRequest) (*yarn.RegisterResponse, error) {
	granted, err := h.rm.Register(ctx, request)
	if errors.Is(err, yarn.ErrInvalidMasterRequest) {
		h.logger.Warn("the application is registered already, so an answer was lost", "error", err)
		granted, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("register with the ResourceManager: %w", err)
	}
	h.registered, h.responseID, h.unanswered = true, 0, nil
	return granted, nil
}

// send sends a heartbeat. It returns errForgotten if the ResourceManager has restarted.
func (h *heartbeats) send(ctx context.Context, request yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
	request.ResponseID = h.responseID
	response, err := h.rm.Allocate(ctx, request)
	switch {
	case errors.Is(err, yarn.ErrNotRegistered), err == nil && response.Command == yarn.Resync:
		h.registered, h.unanswered = false, nil
		return nil, errForgotten
	case err != nil:
		h.unanswered = &request
		return nil, fmt.Errorf("heartbeat to the ResourceManager: %w", err)
	case response.Command == yarn.Shutdown:
		return nil, errShutdown
	}
	h.responseID, h.unanswered = response.ResponseID, nil
	return response, nil
}

// errShutdown is the error of send if the ResourceManager has ordered the ApplicationMaster to shut
// down (AM_SHUTDOWN).
var errShutdown = errors.New("the ResourceManager told this ApplicationMaster to stop")

// IsFinal reports whether err means that the ResourceManager will refuse all further calls.
func IsFinal(err error) bool {
	return errors.Is(err, errShutdown) || errors.Is(err, yarn.ErrAttemptNotFound) || errors.Is(err, yarn.ErrInvalidToken)
}

// failed counts a failed heartbeat. It returns nil if the heartbeat must be retried. It returns an
// error if a retry cannot succeed, or if maxFailures consecutive heartbeats have failed.
func (h *heartbeats) failed(err error) error {
	h.failures++
	switch {
	case IsFinal(err):
		return err
	case errors.Is(err, yarn.ErrInvalidLabelRequest):
		err = fmt.Errorf("%w (yarn.executor.nodeLabelExpression: the queue must have access to the label)", err)
	}
	if h.failures < h.maxFailures {
		h.logger.Warn("a heartbeat to the ResourceManager failed, trying again", "failures", h.failures, "error", err)
		return nil
	}
	return fmt.Errorf("%d times in a row (yarn.scheduler.reporterThread.maxFailures): %w", h.failures, err)
}

const (
	// eagerPeriod is the time in which heartbeats are sent at the initial interval, after changed
	// requests were sent, or containers were allocated or have ended. In this time, nodes with
	// enough resources get the requested containers, because NodeManagers send a heartbeat every
	// second by default.
	eagerPeriod = 3 * time.Second
	// pendingInterval is the maximum interval while requested containers are not allocated. If the
	// initial interval is longer, the maximum is the initial interval.
	pendingInterval = time.Second
)

// heartbeatPace determines the time between heartbeats.
type heartbeatPace struct {
	initial, idle time.Duration
	eagerUntil    time.Time
	wait          time.Duration
}

// change makes next return the initial interval for eagerPeriod.
func (p *heartbeatPace) change(now time.Time) { p.eagerUntil, p.wait = now.Add(eagerPeriod), p.initial }

// next returns the time until the next heartbeat. missing is set if requested containers are not
// allocated yet.
func (p *heartbeatPace) next(missing bool, now time.Time) time.Duration {
	if !missing {
		return p.idle
	}
	if p.wait == 0 {
		p.change(now)
	}
	if now.After(p.eagerUntil) {
		p.wait = min(2*p.wait, max(pendingInterval, p.initial), p.idle)
	}
	return p.wait
}

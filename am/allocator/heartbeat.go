package allocator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// ResourceManager has the calls to the ResourceManager; *yarn.AMClient implements it.
type ResourceManager interface {
	Register(ctx context.Context, request yarn.RegisterRequest) (*yarn.RegisterResponse, error)
	Allocate(ctx context.Context, request yarn.AllocateRequest) (*yarn.AllocateResponse, error)
}

// heartbeats sends allocate calls to the ResourceManager, each with the last answer's id.
type heartbeats struct {
	rm          ResourceManager
	maxFailures int // failures in a row that end the application
	logger      *slog.Logger

	registered bool // with the current ResourceManager
	responseID int32
	// unanswered is the last heartbeat if it got no answer, else nil. It is resent unchanged,
	// because a ResourceManager that has served it then repeats the answer
	// (ApplicationMasterService.allocate).
	unanswered *yarn.AllocateRequest
	failures   int // failed heartbeats and registrations in a row
}

// errForgotten is the error of send if a restarted ResourceManager has forgotten the
// application.
var errForgotten = errors.New("the ResourceManager does not know this application any more, it must be registered again")

// register registers the application. Both results are nil if it is registered
// already because the answer to an earlier try was lost.
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

// send sends a heartbeat. It fails with errForgotten if the ResourceManager has restarted.
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

// errShutdown is the error of send after the ResourceManager's order AM_SHUTDOWN.
var errShutdown = errors.New("the ResourceManager told this ApplicationMaster to stop")

// IsFinal reports whether err means that the ResourceManager refuses all further calls.
func IsFinal(err error) bool {
	return errors.Is(err, errShutdown) || errors.Is(err, yarn.ErrAttemptNotFound) || errors.Is(err, yarn.ErrInvalidToken)
}

// failed counts a failed heartbeat. It returns an error if a retry cannot help, or if
// maxFailures heartbeats in a row have failed; else nil, and the heartbeat is tried again.
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
	// eagerPeriod is how long after a change heartbeats are sent at the initial interval.
	// Within this period, nodes with room get the requested containers, because
	// NodeManagers send heartbeats every second by default.
	eagerPeriod = 3 * time.Second
	// pendingInterval is the longest interval while requested containers are not allocated,
	// unless the initial interval is longer.
	pendingInterval = time.Second
)

// heartbeatPace decides how long to wait between heartbeats.
type heartbeatPace struct {
	initial, idle time.Duration
	eagerUntil    time.Time
	wait          time.Duration
}

// change makes next return the initial interval for eagerPeriod.
func (p *heartbeatPace) change(now time.Time) { p.eagerUntil, p.wait = now.Add(eagerPeriod), p.initial }

// next returns how long to wait before the next heartbeat. missing is set if requested
// containers are not allocated yet.
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

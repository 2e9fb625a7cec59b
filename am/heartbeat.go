package am

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// resourceManager is what the allocator needs of the ResourceManager;
// *yarn.AMClient is one.
type resourceManager interface {
	Register(ctx context.Context, request yarn.RegisterRequest) (*yarn.RegisterResponse, error)
	Allocate(ctx context.Context, request yarn.AllocateRequest) (*yarn.AllocateResponse, error)
	Finish(ctx context.Context, request yarn.FinishRequest) (bool, error)
}

// exchange is the conversation with the ResourceManager: one heartbeat after
// the other, each with the id of the last answer.
type exchange struct {
	rm          resourceManager
	maxFailures int // in a row
	logger      *slog.Logger

	registered bool // with the ResourceManager at hand
	responseID int32
	// unanswered is the heartbeat whose answer did not come. It is sent again as it
	// was: where it has been served, the ResourceManager only repeats its answer,
	// and would pass over anything new in it (ApplicationMasterService.allocate).
	unanswered *yarn.AllocateRequest
	failures   int // in a row
}

// errResent says that the ResourceManager has forgotten the application, which
// must be registered, and told of, again.
var errResent = errors.New("the ResourceManager does not know this application any more, it must be registered again")

// register makes the application known. It returns nil where the application
// is registered already: then the answer to an earlier try was lost.
func (x *exchange) register(ctx context.Context, request yarn.RegisterRequest) (*yarn.RegisterResponse, error) {
	granted, err := x.rm.Register(ctx, request)
	if errors.Is(err, yarn.ErrInvalidMasterRequest) {
		x.logger.Warn("the application is registered already, so an answer was lost", "error", err)
		granted, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("register with the ResourceManager: %w", err)
	}
	x.registered, x.responseID, x.unanswered = true, 0, nil
	return granted, nil
}

// beat sends a heartbeat. The error is errResent where the ResourceManager
// wants to be told everything again.
func (x *exchange) beat(ctx context.Context, request yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
	request.ResponseID = x.responseID
	response, err := x.rm.Allocate(ctx, request)
	switch {
	case errors.Is(err, yarn.ErrNotRegistered), err == nil && response.Command == yarn.Resync:
		x.registered, x.unanswered = false, nil
		return nil, errResent
	case err != nil:
		x.unanswered = &request
		return nil, fmt.Errorf("heartbeat to the ResourceManager: %w", err)
	case response.Command == yarn.Shutdown:
		return nil, errToldToEnd
	}
	x.responseID, x.unanswered = response.ResponseID, nil
	return response, nil
}

// errToldToEnd is the ResourceManager's order to end without unregistering.
var errToldToEnd = errors.New("the ResourceManager told this ApplicationMaster to end")

// final reports whether the ResourceManager will never listen to this attempt
// again.
func final(err error) bool {
	return errors.Is(err, errToldToEnd) || errors.Is(err, yarn.ErrAttemptNotFound) || errors.Is(err, yarn.ErrInvalidToken)
}

// failed counts a heartbeat that failed, and returns the error by which the
// application ends, once there have been too many in a row.
func (x *exchange) failed(err error) error {
	x.failures++
	switch {
	case final(err):
		return err
	case errors.Is(err, yarn.ErrInvalidLabelRequest):
		err = fmt.Errorf("%w (yarn.executor.nodeLabelExpression: the queue must have access to the label)", err)
	}
	if x.failures < x.maxFailures {
		x.logger.Warn("the ResourceManager did not take a heartbeat, trying again", "failures", x.failures, "error", err)
		return nil
	}
	return fmt.Errorf("%d times in a row (yarn.scheduler.reporterThread.maxFailures): %w", x.failures, err)
}

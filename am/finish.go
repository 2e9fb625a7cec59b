package am

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

const (
	// unregisterTimeout bounds finish. It outlasts a restart of the ResourceManager:
	// an attempt that is not unregistered is followed by another, which does all the
	// work again.
	unregisterTimeout = 5 * time.Minute
	// unregisterInterval is the pause between two tries while the ResourceManager has
	// not stored the end.
	unregisterInterval = 50 * time.Millisecond
)

// finish reports to the ResourceManager how the application ended, and removes
// the files that were staged for it.
func (m *applicationMaster) finish(ctx context.Context, outcome outcome, summary string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unregisterTimeout)
	defer cancel()
	request := yarn.FinishRequest{Status: yarn.FinalSucceeded, Diagnostics: summary}
	if outcome.err != nil {
		request = yarn.FinishRequest{Status: yarn.FinalFailed, Diagnostics: failureDiagnostics(outcome.err.Error(), summary)}
	}
	// An attempt that is still registered is followed by another, which needs the files.
	if m.unregister(ctx, request) {
		m.removeStaging(ctx)
	}
}

// unregister reports whether the ResourceManager has stored the end. If it was
// restarted meanwhile, the attempt registers again first.
func (m *applicationMaster) unregister(ctx context.Context, request yarn.FinishRequest) bool {
	for {
		done, err := m.rm.Finish(ctx, request)
		if errors.Is(err, yarn.ErrNotRegistered) {
			m.Logger.Warn("the ResourceManager does not know this application any more, registering again to unregister it")
			err = m.allocator.Register(ctx)
		}
		if err != nil {
			m.Logger.Error("unregister from the ResourceManager", "error", err)
			return false
		}
		if done {
			return true
		}
		select {
		case <-time.After(unregisterInterval):
		case <-ctx.Done():
			m.Logger.Error("the ResourceManager did not store the application's end", "waited", unregisterTimeout)
			return false
		}
	}
}

package am

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

const (
	// unregisterTimeout bounds the last words to the ResourceManager, which may be
	// restarting: an attempt that goes without them is followed by another, which
	// does all the work again.
	unregisterTimeout = 5 * time.Minute
	// unregisterInterval is between two tries while the ResourceManager has not
	// stored the end yet.
	unregisterInterval = 50 * time.Millisecond
)

// unregister reports whether the ResourceManager has stored the end. One that
// restarted meanwhile wants the attempt to register once more before that.
func (m *master) unregister(ctx context.Context, request yarn.FinishRequest) bool {
	for {
		done, err := m.rm.Finish(ctx, request)
		if errors.Is(err, yarn.ErrNotRegistered) {
			m.logger.Warn("the ResourceManager does not know this application any more, registering again to unregister it")
			_, err = m.allocator.exchange.register(ctx, m.allocator.registration)
		}
		if err != nil {
			m.logger.Error("unregister from the ResourceManager", "error", err)
			return false
		}
		if done {
			return true
		}
		select {
		case <-time.After(unregisterInterval):
		case <-ctx.Done():
			m.logger.Error("the ResourceManager did not store the application's end", "waited", unregisterTimeout)
			return false
		}
	}
}

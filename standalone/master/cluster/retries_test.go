package cluster

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// failed has limits for the master's count of consecutive failed executors. The lower limit
// includes only failures that the master certainly knows. The upper limit also includes
// failures that the master may not know yet, and those whose count it lost in a restart.
type failed struct{ most, least int }

// registered sets the count to 0 because an executor has registered. known must be set if the
// master certainly learns of the registration.
func (f *failed) registered(known bool) {
	f.least = 0
	if known {
		f.most = 0
	}
}

// launched reports whether the master has the executor, but not as a registered one.
func (s *sim) launched(a *simApp, id uint32) bool {
	known := s.c.applications[a.hello.GetApplicationId()]
	return known != nil && known.executors[id] != nil && !known.executors[id].registered
}

// expectEnd is called before an executor's end is reported. It returns judge, which must be
// called after the report. judge requires that the end has removed the application if and only
// if MaxExecutorRetries executors have failed and none is registered.
func (s *sim) expectEnd(w *simWorker, key executorKey, state protocol.ExecutorState) (judge func()) {
	var app *simApp
	for _, a := range s.apps {
		if a.hello.GetApplicationId() == key.application && !a.over {
			app = a
		}
	}
	known := s.c.applications[key.application]
	if app == nil || state != protocol.ExecutorState_EXECUTOR_FAILED && state != protocol.ExecutorState_EXECUTOR_EXITED {
		return func() {}
	}
	var e *executor
	if at := s.c.workers[w.hello.GetWorkerId()]; at != nil {
		e = at.executors[key]
	}
	if e != nil && e.registered {
		return func() {
			require.True(s.t, known == nil || !known.hasEnded(), "an executor that was at work is no reason to remove %s", key.application)
		}
	}
	app.failed.most++
	if known == nil || !known.attached || e == nil || e.application != known || e.killing || !w.attached {
		return func() {}
	}
	app.failed.least++
	atWork := false
	for _, other := range known.executors {
		atWork = atWork || other.registered && !other.killing
	}
	limit := s.options.MaxExecutorRetries
	return func() {
		if limit < 0 || atWork || app.failed.most < limit {
			require.False(s.t, known.hasEnded(), "%s is removed: %s", known.id, known.reason)
		} else if app.failed.least >= limit {
			require.True(s.t, known.hasEnded(), "%s stays, and %d of its executors have failed", known.id, app.failed.least)
		}
	}
}

// checkRetries checks that applications are removed only after enough failures, and that the
// delay of a retry is not longer than allowed.
func (s *sim) checkRetries() {
	for _, a := range s.apps {
		if a.over && strings.Contains(a.why, "failed one after the other") {
			require.GreaterOrEqual(s.t, s.options.MaxExecutorRetries, 0)
			require.GreaterOrEqual(s.t, a.failed.most, s.options.MaxExecutorRetries, a.why)
		}
	}
	for _, a := range s.c.queue {
		require.LessOrEqual(s.t, a.retryAt.Sub(s.now), maxRetryDelay)
	}
}

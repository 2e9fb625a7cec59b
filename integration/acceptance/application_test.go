//go:build integration

package acceptance

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// applicationID returns the application id, which yarn-submit prints in the first line of
// stdout.
func (o outcome) applicationID(t *testing.T) string {
	t.Helper()
	require.Regexp(t, `^application_\d+_\d+\n`, o.stdout)
	return o.stdout[:len(o.stdout)-1]
}

// application returns the ResourceManager's report of an application.
func application(t *testing.T, id string) *yarnrest.Application {
	t.Helper()
	found, err := shared.rest.Application(t.Context(), id)
	require.NoError(t, err)
	return found
}

func attempts(t *testing.T, id string) []yarnrest.ApplicationAttempt {
	t.Helper()
	found, err := shared.rest.Attempts(t.Context(), id)
	require.NoError(t, err)
	return found
}

// awaitStatus waits until the status that an ApplicationMaster reports satisfies the condition,
// and returns this status.
func awaitStatus(t *testing.T, id, what string, condition func(page.Status) bool) page.Status {
	t.Helper()
	return shared.awaitStatus(t, id, what, condition)
}

func (s *suite) awaitStatus(t *testing.T, id, what string, condition func(page.Status) bool) page.Status {
	t.Helper()
	var last page.Status
	await(t, id+": "+what, func(ctx context.Context) bool {
		known, err := s.rest.Application(ctx, id)
		if err != nil {
			return false // the ResourceManager may be down
		}
		require.False(t, known.State.Ended(), "it ended before %s: %s", what, known.Diagnostics)
		content, err := s.rest.Proxy(ctx, id, "/"+page.StatusPath)
		if err != nil {
			return false // the ApplicationMaster has not started, or has stopped
		}
		last = page.Status{}
		return json.Unmarshal(content, &last) == nil && condition(last)
	})
	return last
}

// awaitTasks waits until at least the given number of tasks run at the same time.
func awaitTasks(t *testing.T, id string, running int) page.Status {
	t.Helper()
	return awaitStatus(t, id, "tasks run", func(status page.Status) bool { return status.Tasks.Running >= running })
}

// awaitState waits until the application is in the given state at the ResourceManager.
func awaitState(t *testing.T, id string, state yarnrest.ApplicationState) *yarnrest.Application {
	t.Helper()
	var found *yarnrest.Application
	await(t, id+" is "+string(state), func(ctx context.Context) bool {
		var err error
		found, err = shared.rest.Application(ctx, id)
		return err == nil && found.State == state
	})
	return found
}

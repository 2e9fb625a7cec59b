//go:build integration

package acceptance

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// submitDetached runs yarn-submit with arguments that contain --detach, and checks that stdout
// contains only the application's id.
func submitDetached(t *testing.T, args ...string) (id string) {
	t.Helper()
	done := yarnSubmit(t, args...)
	require.Equal(t, 0, done.code)
	require.Regexp(t, `^application_\d+_\d+\n$`, done.stdout)
	return strings.TrimSpace(done.stdout)
}

func TestWaitReturnsTheApplicationsOutcome(t *testing.T) {
	t.Parallel()
	good := submitDetached(t, "run", "--detach", "--tasks", "2", "--num-executors", "1", "--", "true")
	bad := submitDetached(t, "run", "--detach", "--tasks", "1", "--num-executors", "1", "--retries", "0", "--", "sh", "-c", "sleep 1; exit 7")
	for range 2 { // the application has ended before the second time
		done := yarnSubmit(t, "wait", good)
		assert.Equal(t, 0, done.code)
		assert.Contains(t, done.stderr, good+" SUCCEEDED after ")

		done = yarnSubmit(t, "wait", bad)
		assert.Equal(t, 7, done.code, "the command's")
		assert.Contains(t, done.lastLine(), "task 0 exited with status 7")
	}
	done := yarnSubmit(t, "wait", "--json", bad)
	assert.Equal(t, 7, done.code)
	assert.Contains(t, done.stdout, `"applicationId": "`+bad+`"`)
	assert.Equal(t, 3, yarnSubmit(t, "wait", "application_1700000000000_0001").code)
	assert.Equal(t, 2, yarnSubmit(t, "wait", "application_1").code)
	assertNothingLeft(t, good)
	assertNothingLeft(t, bad)
	assertHistory(t, good, bad)
}

func TestTimeoutKillsTheApplication(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "submit", "--num-executors", "1", "--timeout", "8s", program("trouble"), "wait", "1")
	id := done.applicationID(t)
	assertKilled(t, done, id, currentUser(t))
	assert.Contains(t, done.stderr, "it took longer than 8s (--timeout): killing "+id)
	assert.Contains(t, done.lastLine(), ": it took longer than 8s (--timeout)")

	id = submitDetached(t, "submit", "--detach", "--num-executors", "1", program("trouble"), "wait", "1")
	awaitTasks(t, id, 1)
	assertKilled(t, yarnSubmit(t, "wait", "--timeout", "100ms", id), id, currentUser(t))
}

// TestTimeoutOfADetachedApplication checks that the ResourceManager kills an application after
// its timeout although no yarn-submit runs.
func TestTimeoutOfADetachedApplication(t *testing.T) {
	t.Parallel()
	id := submitDetached(t, "submit", "--detach", "--num-executors", "1", "--timeout", "5s", program("trouble"), "wait", "1")
	awaitState(t, id, yarnrest.StateKilled)
	done := yarnSubmit(t, "wait", id)
	assert.Equal(t, 1, done.code)
	assert.Contains(t, done.lastLine(), "longer than its lifetime")
	assertNothingLeft(t, id)
}

func TestCancelledPipelineKillsTheApplicationItWaitsFor(t *testing.T) {
	t.Parallel()
	id := submitDetached(t, "submit", "--detach", "--num-executors", "1", program("trouble"), "wait", "1")
	awaitTasks(t, id, 1)

	byHand := commandLine{args: []string{"wait", id}}.start(t)
	await(t, "it follows", byHand.stderrContains("RUNNING"))
	byHand.signal(t, os.Interrupt)
	done := byHand.wait(t)
	assert.Equal(t, 1, done.code)
	assert.Contains(t, done.lastLine(), id+" goes on: wait for it again with")
	require.Equal(t, yarnrest.StateRunning, application(t, id).State)

	cancelled := commandLine{args: []string{"wait", id}}.start(t)
	await(t, "it follows", cancelled.stderrContains("RUNNING"))
	cancelled.signal(t, syscall.SIGTERM)
	done = cancelled.wait(t)
	assertKilled(t, done, id, currentUser(t))
	assert.Contains(t, done.stderr, "interrupted (terminated): killing "+id)
}

// stderrContains returns a condition for await: stderr contains a text.
func (s *submitted) stderrContains(text string) func(context.Context) bool {
	return func(context.Context) bool { return strings.Contains(s.stderr.String(), text) }
}

// newIdempotencyKey returns an idempotency key that no other test run uses.
func newIdempotencyKey(t *testing.T) string {
	return fmt.Sprintf("%s/%d", t.Name(), time.Now().UnixNano())
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	signal, same := outputPath(t), newIdempotencyKey(t)
	args := []string{"submit", "--num-executors", "1", "--idempotency-key", same, program("trouble"), "until", signal}
	first := commandLine{args: args}.start(t)
	id := first.applicationID(t)
	awaitTasks(t, id, 1)
	retried := commandLine{args: args}.start(t)
	require.Equal(t, id, retried.applicationID(t))
	require.NoError(t, shared.put(t.Context(), signal, nil))
	for _, running := range []*submitted{first, retried} {
		assert.Equal(t, 0, running.wait(t).code)
	}
	assert.Contains(t, retried.stderr.String(), id+" was submitted with the same idempotency key")

	late := commandLine{args: args}.run(t)
	assert.Equal(t, 0, late.code)
	assert.Equal(t, id, late.applicationID(t), "it is over, and known")

	assertNothingLeft(t, id)
}

func TestFailedAndKilledApplicationsDoNotCountForTheirKey(t *testing.T) {
	t.Parallel()
	args := []string{"submit", "--num-executors", "1", "--idempotency-key", newIdempotencyKey(t), program("trouble")}
	first := commandLine{args: append(args, "wait", "1")}.start(t)
	killed := first.applicationID(t)
	first.signal(t, syscall.SIGTERM)
	assertKilled(t, first.wait(t), killed, currentUser(t))
	second := commandLine{args: append(args, "return-error", "wrong")}.run(t)
	assert.Equal(t, 1, second.code)
	failed := second.applicationID(t)
	third := commandLine{args: append(args, "succeed", "1")}.run(t)
	assert.Equal(t, 0, third.code)
	ids := map[string]bool{killed: true, failed: true, third.applicationID(t): true}
	assert.Len(t, ids, 3)
	again := commandLine{args: append(args, "succeed", "1")}.run(t)
	assert.Equal(t, third.applicationID(t), again.applicationID(t))
}

func TestConcurrentPipelinesShareOneApplication(t *testing.T) {
	t.Parallel()
	same, signal := newIdempotencyKey(t), outputPath(t)
	var all []*submitted
	for range 4 {
		all = append(all, commandLine{args: []string{"submit", "--num-executors", "1", "--idempotency-key", same, program("trouble"), "until", signal}}.start(t))
	}
	id := all[0].applicationID(t)
	for _, one := range all {
		assert.Equal(t, id, one.applicationID(t))
	}
	require.NoError(t, shared.put(t.Context(), signal, nil))
	for _, one := range all {
		assert.Equal(t, 0, one.wait(t).code)
	}
	applications, err := shared.rest.Applications(t.Context(), yarnrest.Filter{Types: []string{"BOBBIN"}})
	require.NoError(t, err)
	for _, known := range applications {
		if strings.Contains(strings.Join(known.Tags, " "), "bobbin-key") && known.ID != id && strings.Contains(known.Diagnostics, id) {
			assert.Equal(t, yarnrest.StateKilled, known.State)
			assert.Contains(t, known.Diagnostics, "gives way to "+id)
			assertNothingLeft(t, known.ID)
		}
	}
	assertNothingLeft(t, id)
}

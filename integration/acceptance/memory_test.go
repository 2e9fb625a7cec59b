//go:build integration

package acceptance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExecutorKilledForMemoryIsReported(t *testing.T) {
	t.Parallel()
	done := runTrouble(t, []string{"--executor-memory", "128m", "--conf", "executor.maxNumFailures=2"}, "fill-executor", "300")
	require.Equal(t, 1, done.code)
	id := done.applicationID(t)
	known := application(t, id)
	for _, text := range []string{done.lastLine(), known.Diagnostics} {
		assert.Contains(t, text, "2 executors failed, executor.maxNumFailures is 2")
		assert.Regexp(t, `killed for its memory: \d+(\.\d+)? MB of 128 MB physical memory used`, text)
		assert.Contains(t, text, "raise executor.memory (now 128m)")
	}
	assert.Len(t, attempts(t, id), 1)
	assertNothingLeft(t, id)
}

func TestTaskFailureNamesExecutorsKilledForMemory(t *testing.T) {
	t.Parallel()
	done := runTrouble(t, []string{"--executor-memory", "128m", "--conf", "task.maxFailures=1"}, "fill-executor", "300")
	require.Equal(t, 1, done.code)
	assert.Contains(t, done.lastLine(), `task 0 of "fill" failed once`)
	assert.Regexp(t, `killed for its memory: \d+(\.\d+)? MB of 128 MB physical memory used`, done.lastLine())
	assert.Contains(t, done.lastLine(), "executor.memory")
	assertNothingLeft(t, done.applicationID(t))
}

func TestApplicationMasterKilledForMemoryIsReported(t *testing.T) {
	t.Parallel()
	done := runTrouble(t, []string{"--driver-memory", "128m", "--conf", "yarn.maxAppAttempts=1"}, "fill-driver", "300")
	require.Equal(t, 1, done.code)
	id := done.applicationID(t)
	assert.Regexp(t, `failed: the ApplicationMaster's container was killed for using \d+(\.\d+)? MB of 128 MB physical memory: raise --driver-memory`, done.lastLine())
	assert.Contains(t, application(t, id).Diagnostics, "exitCode: -104", "the NodeManager's reason is not hidden by an exit status")
	assertNothingLeft(t, id)
}

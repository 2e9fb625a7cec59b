//go:build integration

package acceptance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSmallDriverReceivesLargeResults sends 500 MiB of task results to a driver in a container
// of 1 GiB: first all results of a job together, and then one result after the other.
func TestSmallDriverReceivesLargeResults(t *testing.T) {
	t.Parallel()
	done := runTrouble(t, []string{"--num-executors", "2", "--executor-cores", "1", "--executor-memory", "512m", "--driver-memory", "1g",
		"--conf", "yarn.maxAppAttempts=1"}, "results", "500")
	require.Equal(t, 0, done.code)
	id := done.applicationID(t)
	logs := yarnSubmit(t, "logs", id)
	assert.Contains(t, logs.stdout, "together: 25")
	assert.Contains(t, logs.stdout, "one after the other: 25")
	assert.NotContains(t, done.stderr, "failed attempt", "no executor was lost")
	assertNothingLeft(t, id)
}

// TestDriverSurvivesExceedingMaxResultSize runs a job whose results exceed driver.maxResultSize
// and must fail, and then a job that must succeed.
func TestDriverSurvivesExceedingMaxResultSize(t *testing.T) {
	t.Parallel()
	done := runTrouble(t, []string{"--num-executors", "2", "--executor-cores", "1", "--driver-memory", "256m",
		"--conf", "driver.maxResultSize=50m", "--conf", "yarn.maxAppAttempts=1"}, "too-many", "400")
	require.Equal(t, 0, done.code)
	id := done.applicationID(t)
	logs := yarnSubmit(t, "logs", id)
	said := ""
	for line := range strings.Lines(logs.stdout) {
		if strings.HasPrefix(line, "refused: ") {
			said = line
		}
	}
	assert.Contains(t, said, `the results of "produce" are too large`)
	assert.Contains(t, said, "may have 52428800 (50m) of a job's at once")
	assert.Contains(t, said, "driver.maxResultSize")
	assert.Contains(t, logs.stdout, "then: 100")
	assertNothingLeft(t, id)
}

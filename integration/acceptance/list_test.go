//go:build integration

package acceptance

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listIDs returns the application ids that `yarn-submit list` prints.
func listIDs(t *testing.T, args ...string) []string {
	t.Helper()
	done := yarnSubmit(t, append([]string{"list", "--json", "--limit", "0"}, args...)...)
	require.Equal(t, 0, done.code)
	var applications []struct{ ApplicationID string }
	require.NoError(t, json.Unmarshal([]byte(done.stdout), &applications))
	ids := []string{}
	for _, application := range applications {
		ids = append(ids, application.ApplicationID)
	}
	return ids
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	signal := outputPath(t)
	running := commandLine{args: []string{"submit", "--name", "Nightly/report 7", "--queue", "batch", "--conf", "yarn.tags=Team-A,nightly-7",
		"--num-executors", "1", program("trouble"), "until", signal}}.start(t)
	id := running.applicationID(t)
	awaitTasks(t, id, 1)
	for _, args := range [][]string{
		{"--state", "running"}, {"--state", "KILLED,RUNNING"}, {"--user", currentUser(t)}, {"--queue", "batch"}, {"--tag", "team-a"}, {"--tag", "none,Nightly-7"},
		{"--name", "Nightly/report 7"}, {"--name", "Night*7"}, {"--name", "*report ?"},
		{"--state", "RUNNING", "--queue", "batch", "--tag", "nightly-7", "--name", "Nightly*"},
	} {
		assert.Contains(t, listIDs(t, args...), id, args)
	}
	for _, args := range [][]string{
		{"--state", "FINISHED"}, {"--user", "nobody"}, {"--queue", "default"}, {"--tag", "team"}, {"--name", "nightly*"}, {"--name", "report"},
	} {
		assert.NotContains(t, listIDs(t, args...), id, args)
	}
	assert.Equal(t, 2, yarnSubmit(t, "list", "--state", "ALIVE").code)
	assert.Equal(t, 2, yarnSubmit(t, "list", "--name", "[").code)

	table := yarnSubmit(t, "list", "--limit", "1", "--tag", "nightly-7")
	require.Equal(t, 0, table.code)
	lines := strings.Split(strings.TrimSpace(table.stdout), "\n")
	require.Len(t, lines, 2)
	assert.Regexp(t, `^APPLICATION +NAME +USER +QUEUE +STATE +STATUS +STARTED +TOOK$`, lines[0])
	assert.Regexp(t, `^`+id+` +Nightly/report 7 +\S+ +(root\.)?batch +RUNNING +UNDEFINED `, lines[1])
	assert.NotContains(t, table.stdout, "\x1b", "no colours where there is no terminal")

	// Repeat the completion: it returns nothing if the cluster does not answer within its short
	// timeout.
	await(t, "the application's id is completed", func(context.Context) bool {
		return strings.Contains(yarnSubmit(t, "__complete", "kill", "application_").stdout, id+"\tNightly/report 7, RUNNING, ")
	})
	await(t, "the queue's name is completed", func(context.Context) bool {
		return strings.HasPrefix(yarnSubmit(t, "__complete", "submit", "--queue", "b").stdout, "batch\n:")
	})

	watching := commandLine{args: []string{"status", "--watch", "--interval", "200ms", id}}.start(t)
	progress := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d  RUNNING  \S+  1 of 1 executor  \S+ 0/2, 1 running$`)
	await(t, "its progress is shown", func(context.Context) bool { return progress.MatchString(watching.stdout.String()) })
	require.NoError(t, shared.put(t.Context(), signal, nil))
	require.Equal(t, 0, running.wait(t).code)
	seen := watching.wait(t)
	assert.Equal(t, 0, seen.code)
	assert.Regexp(t, `(?m)^\d\d:\d\d:\d\d  FINISHED  SUCCEEDED  `, seen.stdout)
	assert.Regexp(t, `(?m)^status +SUCCEEDED$`, seen.stdout)
}

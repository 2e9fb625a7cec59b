//go:build integration

package acceptance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
)

func TestExecutorRunsAsManyTasksAsItHasCores(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		settings []string
		running  int
	}{
		{"one a core", nil, 3},
		{"two cores a task", []string{"--conf", "task.cpus=2"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"submit", "--num-executors", "1", "--executor-cores", "3"}, test.settings...)
			running := commandLine{args: append(args, program("trouble"), "wait", "5")}.start(t)
			id := running.applicationID(t)
			status := awaitStatus(t, id, "its slots are full", func(status page.Status) bool { return status.Tasks.Running >= test.running })
			assert.Equal(t, test.running, status.Tasks.Running)
			assert.Equal(t, 5, status.Tasks.Total)
			require.Len(t, status.Details, 1)
			assert.Equal(t, 3, status.Details[0].Cores)
		})
	}
}

func TestProgramMayHaveAnyName(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(program("trouble"))
	require.NoError(t, err)
	odd := filepath.Join(t.TempDir(), "öd% name (1) & #2;")
	require.NoError(t, os.WriteFile(odd, content, 0o755))
	done := yarnSubmit(t, "submit", "--num-executors", "1", odd, "succeed", "2")
	require.Equal(t, 0, done.code)
	assert.Equal(t, filepath.Base(odd), application(t, done.applicationID(t)).Name)
}

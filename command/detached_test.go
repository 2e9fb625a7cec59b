package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/storage"
)

// detachedPlan returns a plan that was submitted with --detach in the directory /jobs.
func detachedPlan() *Plan {
	return &Plan{
		Name: "job", Results: "file:///nowhere", Detached: &DetachedPlan{Directory: "/jobs", Summary: "/jobs/out/junit.xml"},
		Steps: []Step{
			{Name: "one", Command: []string{"make", "--token=secret"}, Environment: map[string]string{"TOKEN": "secret"}, Tasks: make(Tasks, 2),
				Collect: []CollectRule{{Pattern: "*.csv", Directory: "/jobs/out/{step}/{index}"}, {Pattern: "*.log", Directory: "/logs/{index}"}}},
			{Name: "two", Command: []string{"make"}, Needs: []string{"one"}, Tasks: Tasks{{Values: []Value{{Item, "a"}}}},
				Collect: []CollectRule{{Pattern: "*.csv", Directory: "/jobs/{item}"}}},
		},
	}
}

func TestSavedPlan(t *testing.T) {
	files := storage.New(storage.Options{})
	directory := t.TempDir()
	_, err := ReadSavedPlan(t.Context(), files, "file://"+directory)
	require.ErrorIs(t, err, ErrNoSavedPlan)

	require.NoError(t, detachedPlan().save(t.Context(), files, "file://"+directory))
	written, err := os.ReadFile(filepath.Join(directory, savedPlan))
	require.NoError(t, err)
	require.NotContains(t, string(written), "secret")
	kept, err := ReadSavedPlan(t.Context(), files, "file://"+directory)
	require.NoError(t, err)
	require.Equal(t, detachedPlan().outline(), kept)

	kept.MoveTo("/elsewhere")
	require.Equal(t, "/elsewhere/out/junit.xml", kept.Detached.Summary)
	require.Equal(t, "/elsewhere/out/one/1", kept.Steps[0].Target(kept.Steps[0].Collect[0], 1))
	require.Equal(t, "/logs/1", kept.Steps[0].Target(kept.Steps[0].Collect[1], 1), "it was never below /jobs")
	require.Equal(t, "/elsewhere/a", kept.Steps[1].Target(kept.Steps[1].Collect[0], 0))

	require.NoError(t, kept.ReplaceTarget(CollectRule{Pattern: "*.csv", Directory: "/here"}))
	require.Equal(t, "/here/one/1", kept.Steps[0].Target(kept.Steps[0].Collect[0], 1))
	require.Equal(t, "/here/two/0", kept.Steps[1].Target(kept.Steps[1].Collect[0], 0))
	require.EqualError(t, kept.ReplaceTarget(CollectRule{Pattern: "*.txt", Directory: "/here"}),
		"*.txt is no pattern that was given with the submission; those are: *.csv, *.log")
}

func TestReadSavedPlanErrors(t *testing.T) {
	for _, text := range []string{"", "{", "{}", `{"steps":[]}`} {
		directory := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(directory, savedPlan), []byte(text), 0o600))
		_, err := ReadSavedPlan(t.Context(), storage.New(storage.Options{}), "file://"+directory)
		require.ErrorContains(t, err, "another version of yarn-submit", text)
	}
}

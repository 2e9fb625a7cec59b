package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// defaultsIn writes a defaults file into a directory and returns the file's path.
func defaultsIn(t *testing.T, directory, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(directory, 0o700))
	path := filepath.Join(directory, "bobbin-defaults.conf")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestTheDefaultsFileIsTheFirstThatExists(t *testing.T) {
	named, home, site := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	find := func() string {
		path, err := findDefaults(site)
		require.NoError(t, err)
		return path
	}
	require.Empty(t, find())
	ofSite := defaultsIn(t, site, "")
	require.Equal(t, ofSite, find())
	ofUser := defaultsIn(t, filepath.Join(home, ".bobbin"), "")
	require.Equal(t, ofUser, find())
	t.Setenv("BOBBIN_CONF_DIR", named)
	require.Equal(t, ofUser, find())
	require.Equal(t, defaultsIn(t, named, ""), find())

	t.Setenv("BOBBIN_CONF_DIR", filepath.Join(named, "missing"))
	_, err := findDefaults(site)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "BOBBIN_CONF_DIR")
}

func TestTheDefaultsFileIsBelowAllOtherSources(t *testing.T) {
	directory := t.TempDir()
	defaults := defaultsIn(t, directory, "# of the site\nexecutor.cores 2\nyarn.queue site\nexecutor.memory 2g\ntask.cpus 2\ndriver.cores 3\nyarn.tags a,b\n")
	t.Setenv("BOBBIN_CONF_DIR", directory)
	t.Setenv("BOBBIN_EXECUTOR_MEMORY", "4g")
	c, err := FromEnvironment(Sources{
		Flags:          map[string]string{"executor.cores": "8"},
		JobFile:        map[string]ValueWithPosition{"task.cpus": {Value: "1", Place: "job.yaml:1:1"}},
		PropertiesFile: write(t, "yarn.queue mine\n"),
	})
	require.NoError(t, err)
	require.Equal(t, 8, ExecutorCores.In(c))
	require.Equal(t, 4*GiB, ExecutorMemory.In(c))
	require.Equal(t, 1, TaskCPUs.In(c))
	require.Equal(t, "mine", Queue.In(c))
	require.Equal(t, 3, DriverCores.In(c))
	require.Equal(t, defaults+":6", c.Source("driver.cores"))

	changed, err := c.With(map[string]string{"yarn.queue": "other"})
	require.NoError(t, err)
	require.Equal(t, defaults+":6", changed.Source("driver.cores"), "a changed configuration keeps its sources")
	changed, err = changed.Without("driver.cores")
	require.NoError(t, err)
	require.Equal(t, 1, DriverCores.In(changed))
	require.Equal(t, "default", changed.Source("driver.cores"))
	require.Equal(t, 3, DriverCores.In(c), "the original does not change")
}

func TestErrorsNameTheLineOfTheDefaultsFile(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("BOBBIN_CONF_DIR", directory)
	for text, want := range map[string]string{
		"\nexecutor.memory lots\n": `executor.memory="lots" (from PATH:2)`,
		"executor.memroy 2g\n":     "PATH:1: unknown key",
		"lonely\n":                 "PATH:1: ",
	} {
		path := defaultsIn(t, directory, text)
		_, err := FromEnvironment(Sources{})
		require.ErrorContains(t, err, strings.ReplaceAll(want, "PATH", path))
	}
}

package bobbin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHandedSettings(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "bobbin-defaults.conf"), []byte("executor.cores 5\nyarn.queue batch\n"), 0o600))
	t.Setenv("BOBBIN_CONF_DIR", directory)
	t.Setenv("BOBBIN_EXECUTOR_CORES", "7")
	t.Setenv("BOBBIN_LAUNCH_PROPERTIES", `{"executor.cores":"3","hadoop.a":"b"}`)
	settings, err := handedSettings()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"executor.cores": "3", "hadoop.a": "b"}, settings.Map(), "yarn-submit has read the environment and the defaults file")
	_, set := os.LookupEnv("BOBBIN_LAUNCH_PROPERTIES")
	require.False(t, set, "it is not for what the program starts")
	settings, err = handedSettings()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"executor.cores": "7", "yarn.queue": "batch"}, settings.Map())

	t.Setenv("BOBBIN_LAUNCH_PROPERTIES", "nonsense")
	_, err = handedSettings()
	require.ErrorContains(t, err, "BOBBIN_LAUNCH_PROPERTIES")
}

func TestHandedDriverID(t *testing.T) {
	t.Setenv("BOBBIN_LAUNCH_DRIVER_ID", "driver-1")
	for _, want := range []string{"driver-1", ""} {
		id, err := handedDriverID()
		require.NoError(t, err)
		require.Equal(t, want, id)
	}
}

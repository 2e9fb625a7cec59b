package procfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResidentBytes(t *testing.T) {
	own, err := ResidentBytes(Self)
	require.NoError(t, err)
	require.Positive(t, own)
	byNumber, err := ResidentBytes(Directory(os.Getpid()))
	require.NoError(t, err)
	require.Positive(t, byNumber)
	for content, want := range map[string]string{"": `""`, "1": `"1"`, "1 many 3": "many"} {
		directory := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(directory, "statm"), []byte(content), 0o644))
		_, err := ResidentBytes(directory)
		require.ErrorContains(t, err, want)
	}
	_, err = ResidentBytes(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestPeakResidentBytes(t *testing.T) {
	now, err := ResidentBytes(Self)
	require.NoError(t, err)
	peak, err := PeakResidentBytes(Self)
	require.NoError(t, err)
	require.Greater(t, peak, now/2)
	for _, content := range []string{"", "Name:\tx\n", "Name:\tx\nVmHWM:\t many kB\n", "Name:\tx\nVmHWM:\t  1"} {
		directory := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(directory, "status"), []byte(content), 0o644))
		_, err := PeakResidentBytes(directory)
		require.ErrorContains(t, err, "VmHWM")
	}
	_, err = PeakResidentBytes(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}

package executorbackend

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestAnExecutorLeavesWhenItsDiskIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := filepath.Join(t.TempDir(), "container")
		require.NoError(t, os.Mkdir(disk, 0o700))
		s := start(t, Options{ID: "7", Host: "node", Cores: 2, replaceable: true, directory: disk})
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		left, err := os.ReadDir(disk)
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoError(t, os.Remove(disk))
		require.Contains(t, s.wish(), "it cannot write to its working directory: ")
		s.send(&wire.DriverMessage{Stop: &wire.Stop{}})
		require.Equal(t, ExitLostDisk, ExitCode(<-s.served))
		s.leave()
	})
}

func TestAnExecutorWithoutADiskDoesNotJoin(t *testing.T) {
	err := Run(t.Context(), Options{ID: "7", directory: filepath.Join(t.TempDir(), "missing")}, "127.0.0.1:1", nil)
	require.Equal(t, ExitLostDisk, ExitCode(err))
	require.ErrorContains(t, err, "executor 7 cannot write to its working directory")
}

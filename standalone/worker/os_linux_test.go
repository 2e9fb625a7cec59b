package worker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemTotal(t *testing.T) {
	require.Equal(t, int64(16384<<10), memTotal([]byte("MemFree: 1 kB\nMemTotal:       16384 kB\nMemTotalX: 3 kB\n")))
	for _, content := range []string{"", "MemTotal:", "MemTotal: many kB\n", "Mem: 12 kB"} {
		require.Zero(t, memTotal([]byte(content)), content)
	}
	require.Positive(t, machineMemory())
}

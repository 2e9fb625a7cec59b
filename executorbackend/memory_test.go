package executorbackend

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

func TestAHeapProfileIsKeptNearTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		file := filepath.Join(t.TempDir(), "heap.pb.gz")
		x := &executor{options: Options{ID: "7", MemoryLimit: 1000, HeapProfile: file, Logger: slog.New(slog.NewTextHandler(&log, nil))}}
		looks := 0
		x.watchMemory(t.Context(), func() uint64 {
			looks++
			require.False(t, x.heapProfiled.Load())
			return uint64(600 + 100*looks)
		})
		require.Equal(t, 3, looks)
		require.True(t, x.heapProfiled.Load())
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		kept, err := profile.ParseData(content)
		require.NoError(t, err)
		require.NotEmpty(t, kept.SampleType)
		require.Contains(t, log.String(), "resident=900 limit=1000")

		x = &executor{options: Options{MemoryLimit: 1, HeapProfile: file + "/gone", Logger: slog.New(slog.NewTextHandler(&log, nil))}}
		x.watchMemory(t.Context(), func() uint64 { return 1 })
		require.False(t, x.heapProfiled.Load())
		require.Contains(t, log.String(), "no heap profile can be kept")
	})
}

package limit

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/bench/data/inputs"
	"github.com/bobbin-yarn/bobbin/storage"
)

func BenchmarkWordCount(b *testing.B) {
	const size = 128 << 20
	dir := b.TempDir()
	file, err := os.Create(filepath.Join(dir, "text"))
	require.NoError(b, err)
	require.NoError(b, inputs.Text(file, 1, 0, size))
	require.NoError(b, file.Close())
	files := storage.New(storage.Options{})
	defer files.Close()
	b.SetBytes(size)
	var before, after syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
	for b.Loop() {
		require.NoError(b, WordCount(b.Context(), files, b.TempDir()+"/out", dir))
	}
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	b.ReportMetric(float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano())/1e9/float64(b.N), "cpu-s/op")
}

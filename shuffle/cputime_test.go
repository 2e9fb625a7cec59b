package shuffle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time that the process has used in user mode. On a shared
// machine it is a better measure than the elapsed time.
func cpuTime(t testing.TB) time.Duration {
	var usage unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano())
}

// reportCPU reports the processor time since begin as a benchmark metric, per operation.
// Each of the b.N rounds has n operations.
func reportCPU(b *testing.B, begin time.Duration, n int, unit string) {
	b.ReportMetric(float64((cpuTime(b)-begin).Nanoseconds())/float64(b.N)/float64(n), "cpu-ns/"+unit)
}

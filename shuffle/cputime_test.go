package shuffle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time that the process has used in user mode. On a
// shared machine it says more than the time that passed.
func cpuTime(t testing.TB) time.Duration {
	var usage unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano())
}

// reportCPU reports the processor time of each of n operations of a round since begin.
func reportCPU(b *testing.B, begin time.Duration, n int, unit string) {
	b.ReportMetric(float64((cpuTime(b)-begin).Nanoseconds())/float64(b.N)/float64(n), "cpu-ns/"+unit)
}

package page

import (
	"github.com/bobbin-yarn/bobbin/am/allocator"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// The metrics of executors' containers.
var (
	containerCount = metrics.Family{Name: "bobbin_containers", Type: metrics.Gauge, Labels: []string{"state"},
		Help: "Containers of executors that are not registered: requested (pending), allocated and started (launching), or released and not ended (ending)."}
	executorsEnded = metrics.Family{Name: "bobbin_executors_ended_total", Type: metrics.Counter, Labels: []string{"reason"},
		Help: "Executors that have ended, by reason."}
	executorFailures = metrics.Family{Name: "bobbin_executor_failures", Type: metrics.Gauge, Help: "Failures of executors that count towards executor.maxNumFailures."}
	excludedHosts    = metrics.Family{Name: "bobbin_excluded_hosts", Type: metrics.Gauge, Help: "Hosts on which no executors are started."}
)

// MetricFamilies are the metrics that an ApplicationMaster adds to those of its driver.
var MetricFamilies = []*metrics.Family{&containerCount, &executorsEnded, &executorFailures, &excludedHosts}

// AddMetrics adds the metrics of executors' containers.
func AddMetrics(set *metrics.Set, allocated allocator.Status) {
	counts := &allocated.Counts
	set.Add(&containerCount, float64(counts.Pending), "pending")
	set.Add(&containerCount, float64(counts.Launching), "launching")
	set.Add(&containerCount, float64(counts.Ending), "ending")
	for _, failure := range allocated.Failures {
		set.Add(&executorsEnded, float64(failure.Count), failure.Reason)
	}
	set.Add(&executorFailures, float64(counts.Failed))
	set.Add(&excludedHosts, float64(len(allocated.Exclusions)))
}

package page

import (
	"github.com/bobbin-yarn/bobbin/am/allocator"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// MetricTable contains the metrics of executors' containers. An ApplicationMaster serves them
// together with the metrics of its driver.
var MetricTable = metrics.Table[allocator.Status]{
	metrics.New(metrics.Family{Name: "bobbin_containers", Type: metrics.Gauge, Labels: []string{"state"},
		Help: "Containers of executors that are not registered: requested (pending), allocated and started (launching), or released and not ended (ending)."},
		func(s allocator.Status, add metrics.Add) {
			add(float64(s.Counts.Pending), "pending")
			add(float64(s.Counts.Launching), "launching")
			add(float64(s.Counts.Ending), "ending")
		}),
	metrics.New(metrics.Family{Name: "bobbin_executors_ended_total", Type: metrics.Counter, Labels: []string{"reason"}, Help: "Executors that have ended, by reason."},
		func(s allocator.Status, add metrics.Add) {
			for _, failure := range s.Failures {
				add(float64(failure.Count), failure.Reason)
			}
		}),
	metrics.NewGauge("bobbin_executor_failures", "Failures of executors that count towards executor.maxNumFailures.", func(s allocator.Status) float64 { return float64(s.Counts.Failed) }),
	metrics.NewGauge("bobbin_excluded_hosts", "Hosts on which no executors are started.", func(s allocator.Status) float64 { return float64(len(s.Exclusions)) }),
}

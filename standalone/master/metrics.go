package master

import (
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

// MetricTable has the metrics of a master. A standby reports only the first metric.
var MetricTable = metrics.Table[*Status]{
	metrics.NewGauge("bobbin_master_leads", "1 if the master leads the cluster, else 0.", func(s *Status) float64 {
		if s.leads() {
			return 1
		}
		return 0
	}),
	metrics.New(metrics.Family{Name: "bobbin_master_workers", Type: metrics.Gauge, Help: "Workers, by state.", Labels: []string{"state"}}, func(s *Status, add metrics.Add) {
		var states []string
		for _, worker := range s.Workers {
			states = append(states, worker.State)
		}
		metrics.AddCounts(add, states)
	}),
	metrics.NewGauge("bobbin_master_cores", "Cores of the workers that are not dead.", func(s *Status) float64 { return float64(s.Cores) }),
	metrics.NewGauge("bobbin_master_used_cores", "Cores that executors and drivers have.", func(s *Status) float64 { return float64(s.CoresUsed) }),
	metrics.NewGauge("bobbin_master_memory_bytes", "Memory of the workers that are not dead.", func(s *Status) float64 { return float64(s.Memory) }),
	metrics.NewGauge("bobbin_master_used_memory_bytes", "Memory that executors and drivers have.", func(s *Status) float64 { return float64(s.MemoryUsed) }),
	metrics.NewGauge("bobbin_master_applications", "Applications that have not ended.", func(s *Status) float64 { return float64(len(s.Applications)) }),
	metrics.NewGauge("bobbin_master_waiting_applications", "Applications that have no executor.", func(s *Status) float64 { return float64(s.WaitingApplications) }),
	metrics.New(metrics.Family{Name: "bobbin_master_drivers", Type: metrics.Gauge, Help: "Submitted drivers that have not ended, by state.", Labels: []string{"state"}}, func(s *Status, add metrics.Add) {
		var states []string
		for _, driver := range s.Drivers {
			states = append(states, driver.State)
		}
		metrics.AddCounts(add, states)
	}),
}

func (s *Status) leads() bool { return s.Leader == "" && s.Phase != cluster.PhaseStandby }

// addMetrics adds the metrics of the master to set.
func (s *Status) addMetrics(set *metrics.Set) {
	if !s.leads() {
		MetricTable[:1].AddTo(set, s)
		return
	}
	MetricTable.AddTo(set, s)
}

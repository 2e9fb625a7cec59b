package worker

import "github.com/bobbin-yarn/bobbin/internal/metrics"

// MetricTable has the metrics of a worker.
var MetricTable = metrics.Table[*Status]{
	metrics.NewGauge("bobbin_worker_running", "1 if the worker is registered with a master and takes executors, else 0.", func(s *Status) float64 {
		if s.State == stateRunning {
			return 1
		}
		return 0
	}),
	metrics.NewGauge("bobbin_worker_cores", "Cores of the worker.", func(s *Status) float64 { return float64(s.Cores) }),
	metrics.NewGauge("bobbin_worker_used_cores", "Cores that executors and drivers have.", func(s *Status) float64 { return float64(s.CoresUsed) }),
	metrics.NewGauge("bobbin_worker_memory_bytes", "Memory of the worker.", func(s *Status) float64 { return float64(s.Memory) }),
	metrics.NewGauge("bobbin_worker_used_memory_bytes", "Memory that executors and drivers have.", func(s *Status) float64 { return float64(s.MemoryUsed) }),
	metrics.NewGauge("bobbin_worker_executors", "Executors that run.", func(s *Status) float64 { return float64(len(s.Executors)) }),
	metrics.NewGauge("bobbin_worker_drivers", "Drivers that run.", func(s *Status) float64 { return float64(len(s.Drivers)) }),
}

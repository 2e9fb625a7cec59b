package worker

import "github.com/bobbin-yarn/bobbin/internal/metrics"

// The metrics of a worker.
var (
	workerState  = metrics.Family{Name: "bobbin_worker_running", Type: metrics.Gauge, Help: "1 if the worker is registered with a master and takes executors, else 0."}
	workerCores  = metrics.Family{Name: "bobbin_worker_cores", Type: metrics.Gauge, Help: "Cores of the worker."}
	coresUsed    = metrics.Family{Name: "bobbin_worker_used_cores", Type: metrics.Gauge, Help: "Cores that executors and drivers have."}
	workerMemory = metrics.Family{Name: "bobbin_worker_memory_bytes", Type: metrics.Gauge, Help: "Memory of the worker."}
	memoryUsed   = metrics.Family{Name: "bobbin_worker_used_memory_bytes", Type: metrics.Gauge, Help: "Memory that executors and drivers have."}
	executors    = metrics.Family{Name: "bobbin_worker_executors", Type: metrics.Gauge, Help: "Executors that run."}
	drivers      = metrics.Family{Name: "bobbin_worker_drivers", Type: metrics.Gauge, Help: "Drivers that run."}
)

// MetricFamilies are the metrics of a worker.
var MetricFamilies = []*metrics.Family{&workerState, &workerCores, &coresUsed, &workerMemory, &memoryUsed, &executors, &drivers}

// addMetrics adds the metrics of the worker.
func (s *Status) addMetrics(set *metrics.Set) {
	running := 0.0
	if s.State == stateRunning {
		running = 1
	}
	set.Add(&workerState, running)
	set.Add(&workerCores, float64(s.Cores))
	set.Add(&coresUsed, float64(s.CoresUsed))
	set.Add(&workerMemory, float64(s.Memory))
	set.Add(&memoryUsed, float64(s.MemoryUsed))
	set.Add(&executors, float64(len(s.Executors)))
	set.Add(&drivers, float64(len(s.Drivers)))
}

package driver

import (
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// Limits on how many of the user's counters and gauges are exposed as metrics. Together they add at
// most 200 series to a scrape.
const (
	maxCounterSeries = 100
	maxGaugeSeries   = 25 // each gauge has four series
)

// MetricTable lists the metrics of a driver.
var MetricTable = metrics.Table[*Status]{
	metrics.NewGauge("bobbin_driver_start_time_seconds", "When the driver started, in seconds since 1970.", func(s *Status) float64 { return metrics.Seconds(s.Started) }),
	metrics.NewGauge("bobbin_cores", "Cores of the executors that take new tasks.", func(s *Status) float64 { return float64(s.Totals.Cores) }),
	metrics.New(metrics.Family{Name: "bobbin_executors", Type: metrics.Gauge, Labels: []string{"state"},
		Help: "Executors that are registered with the driver: running, or decommissioning, which take no new tasks."},
		func(s *Status, add metrics.Add) {
			add(float64(s.Totals.Executors-s.Totals.Decommissioning), "running")
			add(float64(s.Totals.Decommissioning), "decommissioning")
		}),
	metrics.NewGauge("bobbin_executors_wanted", "Executors that the driver wants.", func(s *Status) float64 {
		wanted := 0
		for _, profile := range s.Profiles {
			wanted += profile.Wanted
		}
		return float64(wanted)
	}),
	metrics.NewCounter("bobbin_executors_lost_total", "Executors that were lost, for whatever reason.", func(s *Status) float64 { return float64(s.Totals.ExecutorsLost) }),
	metrics.NewGauge("bobbin_executors_resident_memory_bytes", "Resident memory of all executors together, as of their last heartbeats.", func(s *Status) float64 {
		sum := uint64(0)
		for _, resident := range s.residentBytes() {
			sum += resident
		}
		return float64(sum)
	}),
	metrics.NewGauge("bobbin_executor_max_resident_memory_bytes", "Resident memory of the executor that has most.", func(s *Status) float64 {
		return float64(slices.Max(append(s.residentBytes(), 0)))
	}),
	metrics.NewGauge("bobbin_executor_max_heap_bytes", "The largest heap that an executor has had so far.", func(s *Status) float64 { return float64(s.Totals.Metrics.PeakMemoryBytes) }),
	metrics.NewGauge("bobbin_exclusions", "Executors and nodes that get no tasks for a while, because tasks failed there.", func(s *Status) float64 { return float64(len(s.Exclusions)) }),

	metrics.NewCounter("bobbin_task_sets_submitted_total", "Task sets that were submitted: jobs, and attempts of stages of data sets.", func(s *Status) float64 { return float64(s.Totals.Jobs) }),
	metrics.NewGauge("bobbin_task_sets_running", "Task sets that have not ended.", func(s *Status) float64 {
		running := 0
		for i := range s.Jobs {
			if s.Jobs[i].State == JobStateRunning {
				running++
			}
		}
		return float64(running)
	}),
	metrics.New(metrics.Family{Name: "bobbin_tasks", Type: metrics.Gauge, Labels: []string{"state"}, Help: "Tasks that run, and tasks that wait for a core."},
		func(s *Status, add metrics.Add) {
			add(float64(s.Totals.Running), "running")
			add(float64(s.Totals.Waiting), "waiting")
		}),
	metrics.NewCounter("bobbin_tasks_completed_total", "Tasks that have succeeded.", func(s *Status) float64 { return float64(s.Totals.Done) }),
	metrics.NewCounter("bobbin_task_attempts_failed_total", "Attempts of tasks that have failed.", func(s *Status) float64 { return float64(s.Totals.FailedAttempts) }),
	metrics.New(metrics.Family{Name: "bobbin_task_attempts_launched_total", Type: metrics.Counter, Labels: []string{"locality"},
		Help: "Attempts of tasks that were launched, by how near to their data."},
		func(s *Status, add metrics.Add) {
			locality := &s.Totals.Locality
			add(float64(locality.ProcessLocal), "process_local")
			add(float64(locality.NodeLocal), "node_local")
			add(float64(locality.RackLocal), "rack_local")
			add(float64(locality.Any), "any")
			add(float64(locality.NoPref), "no_pref")
		}),
	metrics.New(metrics.Family{Name: "bobbin_task_seconds_total", Type: metrics.Counter, Labels: []string{"phase"},
		Help: "Time of tasks that have succeeded: waiting at the executor, decoding the input, running, encoding the result."},
		func(s *Status, add metrics.Add) {
			seconds := func(nanos uint64) float64 { return time.Duration(nanos).Seconds() }
			add(seconds(s.Totals.Metrics.QueueNanos), "queue")
			add(seconds(s.Totals.Metrics.DecodeNanos), "decode")
			add(seconds(s.Totals.Metrics.RunNanos), "run")
			add(seconds(s.Totals.Metrics.EncodeNanos), "encode")
		}),
	metrics.NewCounter("bobbin_task_result_bytes_total", "Encoded results of tasks that have succeeded.", func(s *Status) float64 { return float64(s.Totals.Metrics.ResultBytes) }),
	metrics.NewCounter("bobbin_task_read_bytes_total", "Bytes, as stored, that tasks that have succeeded read from files.", func(s *Status) float64 { return float64(s.Totals.Metrics.BytesRead) }),
	metrics.NewCounter("bobbin_task_written_bytes_total", "Bytes, as stored, that tasks that have succeeded wrote to files.", func(s *Status) float64 { return float64(s.Totals.Metrics.BytesWritten) }),

	metrics.New(metrics.Family{Name: "bobbin_user_count_total", Type: metrics.Counter, Labels: []string{"name"},
		Help: "The program's counters, over tasks that have succeeded; the first 100 by name."},
		func(s *Status, add metrics.Add) {
			names := slices.Sorted(maps.Keys(s.Values.Counters))
			for _, name := range names[:min(len(names), maxCounterSeries)] {
				add(float64(s.Values.Counters[name]), name)
			}
		}),
	metrics.New(metrics.Family{Name: "bobbin_user_level", Type: metrics.Gauge, Labels: []string{"name", "of"},
		Help: "The program's gauges: sum, min and max over running attempts, and the peak so far; the first 25 by name."},
		func(s *Status, add metrics.Add) {
			names := slices.Sorted(maps.Keys(s.Values.Gauges))
			for _, name := range names[:min(len(names), maxGaugeSeries)] {
				gauge := s.Values.Gauges[name]
				add(float64(gauge.Sum), name, "sum")
				add(float64(gauge.Min), name, "min")
				add(float64(gauge.Max), name, "max")
				add(float64(gauge.Peak), name, "peak")
			}
		}),
}

// residentBytes returns the resident memory of each executor that is not lost.
func (s *Status) residentBytes() (all []uint64) {
	for i := range s.Executors {
		if e := &s.Executors[i]; e.State != ExecutorStateLost {
			all = append(all, e.ResidentBytes)
		}
	}
	return all
}

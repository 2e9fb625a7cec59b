package driver

import (
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// Limits of the user's counters and gauges among the metrics, so that a scrape has at
// most 300 series.
const (
	maxCounterSeries = 100
	maxGaugeSeries   = 25 // four series each
)

// The metrics of a driver.
var (
	driverStart = metrics.Family{Name: "bobbin_driver_start_time_seconds", Type: metrics.Gauge, Help: "When the driver started, in seconds since 1970."}

	coresTotal    = metrics.Family{Name: "bobbin_cores", Type: metrics.Gauge, Help: "Cores of the executors that take new tasks."}
	executorCount = metrics.Family{Name: "bobbin_executors", Type: metrics.Gauge,
		Help: "Executors that are registered with the driver: running, or decommissioning, which take no new tasks.", Labels: []string{"state"}}
	executorsWanted   = metrics.Family{Name: "bobbin_executors_wanted", Type: metrics.Gauge, Help: "Executors that the driver wants."}
	executorsLost     = metrics.Family{Name: "bobbin_executors_lost_total", Type: metrics.Counter, Help: "Executors that were lost, for whatever reason."}
	executorsResident = metrics.Family{Name: "bobbin_executors_resident_memory_bytes", Type: metrics.Gauge, Help: "Resident memory of all executors together, as of their last heartbeats."}
	executorResident  = metrics.Family{Name: "bobbin_executor_max_resident_memory_bytes", Type: metrics.Gauge, Help: "Resident memory of the executor that has most."}
	executorHeap      = metrics.Family{Name: "bobbin_executor_max_heap_bytes", Type: metrics.Gauge, Help: "The largest heap that an executor has had so far."}
	exclusionCount    = metrics.Family{Name: "bobbin_exclusions", Type: metrics.Gauge, Help: "Executors and nodes that get no tasks for a while, because tasks failed there."}

	taskSetsSubmitted = metrics.Family{Name: "bobbin_task_sets_submitted_total", Type: metrics.Counter, Help: "Task sets that were submitted: jobs, and attempts of stages of data sets."}
	taskSetsRunning   = metrics.Family{Name: "bobbin_task_sets_running", Type: metrics.Gauge, Help: "Task sets that have not ended."}
	taskCount         = metrics.Family{Name: "bobbin_tasks", Type: metrics.Gauge, Help: "Tasks that run, and tasks that wait for a core.", Labels: []string{"state"}}
	tasksCompleted    = metrics.Family{Name: "bobbin_tasks_completed_total", Type: metrics.Counter, Help: "Tasks that have succeeded."}
	attemptsFailed    = metrics.Family{Name: "bobbin_task_attempts_failed_total", Type: metrics.Counter, Help: "Attempts of tasks that have failed."}
	attemptsLaunched  = metrics.Family{Name: "bobbin_task_attempts_launched_total", Type: metrics.Counter,
		Help: "Attempts of tasks that were launched, by how near to their data.", Labels: []string{"locality"}}

	taskTime = metrics.Family{Name: "bobbin_task_seconds_total", Type: metrics.Counter,
		Help: "Time of tasks that have succeeded: waiting at the executor, decoding the input, running, encoding the result.", Labels: []string{"phase"}}
	taskResults = metrics.Family{Name: "bobbin_task_result_bytes_total", Type: metrics.Counter, Help: "Encoded results of tasks that have succeeded."}
	taskRead    = metrics.Family{Name: "bobbin_task_read_bytes_total", Type: metrics.Counter, Help: "Bytes, as stored, that tasks that have succeeded read from files."}
	taskWritten = metrics.Family{Name: "bobbin_task_written_bytes_total", Type: metrics.Counter, Help: "Bytes, as stored, that tasks that have succeeded wrote to files."}

	userCounts = metrics.Family{Name: "bobbin_user_count_total", Type: metrics.Counter,
		Help: "The program's counters, over tasks that have succeeded; the first 100 by name.", Labels: []string{"name"}}
	userLevels = metrics.Family{Name: "bobbin_user_level", Type: metrics.Gauge,
		Help: "The program's gauges: sum, min and max over running attempts, and the peak so far; the first 25 by name.", Labels: []string{"name", "of"}}
)

// MetricFamilies are the metrics that AddMetrics adds.
var MetricFamilies = []*metrics.Family{
	&driverStart, &coresTotal, &executorCount, &executorsWanted, &executorsLost, &executorsResident, &executorResident, &executorHeap, &exclusionCount,
	&taskSetsSubmitted, &taskSetsRunning, &taskCount, &tasksCompleted, &attemptsFailed, &attemptsLaunched,
	&taskTime, &taskResults, &taskRead, &taskWritten, &userCounts, &userLevels,
}

// AddMetrics adds the metrics of the driver.
func (s *Status) AddMetrics(set *metrics.Set) {
	t := &s.Totals
	set.Add(&driverStart, metrics.Seconds(s.Started))
	set.Add(&coresTotal, float64(t.Cores))
	set.Add(&executorCount, float64(t.Executors-t.Decommissioning), "running")
	set.Add(&executorCount, float64(t.Decommissioning), "decommissioning")
	wanted := 0
	for _, profile := range s.Profiles {
		wanted += profile.Wanted
	}
	set.Add(&executorsWanted, float64(wanted))
	set.Add(&executorsLost, float64(t.ExecutorsLost))
	var resident, largest uint64
	for i := range s.Executors {
		if e := &s.Executors[i]; e.State != ExecutorLost {
			resident, largest = resident+e.ResidentBytes, max(largest, e.ResidentBytes)
		}
	}
	set.Add(&executorsResident, float64(resident))
	set.Add(&executorResident, float64(largest))
	set.Add(&executorHeap, float64(t.Metrics.PeakMemoryBytes))
	set.Add(&exclusionCount, float64(len(s.Exclusions)))

	running := 0
	for i := range s.Jobs {
		if s.Jobs[i].State == JobRunning {
			running++
		}
	}
	set.Add(&taskSetsSubmitted, float64(t.Jobs))
	set.Add(&taskSetsRunning, float64(running))
	set.Add(&taskCount, float64(t.Running), "running")
	set.Add(&taskCount, float64(t.Waiting), "waiting")
	set.Add(&tasksCompleted, float64(t.Done))
	set.Add(&attemptsFailed, float64(t.FailedAttempts))
	set.Add(&attemptsLaunched, float64(t.Locality.ProcessLocal), "process_local")
	set.Add(&attemptsLaunched, float64(t.Locality.NodeLocal), "node_local")
	set.Add(&attemptsLaunched, float64(t.Locality.RackLocal), "rack_local")
	set.Add(&attemptsLaunched, float64(t.Locality.Any), "any")
	set.Add(&attemptsLaunched, float64(t.Locality.NoPref), "no_pref")

	seconds := func(nanos uint64) float64 { return time.Duration(nanos).Seconds() }
	set.Add(&taskTime, seconds(t.Metrics.QueueNanos), "queue")
	set.Add(&taskTime, seconds(t.Metrics.DecodeNanos), "decode")
	set.Add(&taskTime, seconds(t.Metrics.RunNanos), "run")
	set.Add(&taskTime, seconds(t.Metrics.EncodeNanos), "encode")
	set.Add(&taskResults, float64(t.Metrics.ResultBytes))
	set.Add(&taskRead, float64(t.Metrics.BytesRead))
	set.Add(&taskWritten, float64(t.Metrics.BytesWritten))
	s.addValues(set)
}

// addValues adds the user's counters and gauges.
func (s *Status) addValues(set *metrics.Set) {
	for i, name := range slices.Sorted(maps.Keys(s.Values.Counters)) {
		if i == maxCounterSeries {
			break
		}
		set.Add(&userCounts, float64(s.Values.Counters[name]), name)
	}
	for i, name := range slices.Sorted(maps.Keys(s.Values.Gauges)) {
		if i == maxGaugeSeries {
			break
		}
		gauge := s.Values.Gauges[name]
		set.Add(&userLevels, float64(gauge.Sum), name, "sum")
		set.Add(&userLevels, float64(gauge.Min), name, "min")
		set.Add(&userLevels, float64(gauge.Max), name, "max")
		set.Add(&userLevels, float64(gauge.Peak), name, "peak")
	}
}

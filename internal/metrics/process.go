package metrics

import (
	"runtime/metrics"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/procfs"
)

// Metrics of this process, with the names that the client libraries of Prometheus use.
var (
	processStart    = Family{Name: "process_start_time_seconds", Type: Gauge, Help: "When the process that serves the metrics started, in seconds since 1970."}
	processCPU      = Family{Name: "process_cpu_seconds_total", Type: Counter, Help: "CPU time that the process has used."}
	processResident = Family{Name: "process_resident_memory_bytes", Type: Gauge, Help: "Resident memory of the process; on Linux only."}
	goroutines      = Family{Name: "go_goroutines", Type: Gauge, Help: "Goroutines of the process."}
	heapObjects     = Family{Name: "go_memstats_heap_alloc_bytes", Type: Gauge, Help: "Memory of the objects on the Go heap of the process."}
)

// ProcessFamilies are the families that AddProcess adds.
var ProcessFamilies = []*Family{&processStart, &processCPU, &processResident, &goroutines, &heapObjects}

// started is approximately when this process started.
var started = time.Now()

// AddProcess adds the metrics of this process to set.
func AddProcess(set *Set) {
	set.Add(&processStart, Seconds(started))
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err == nil {
		set.Add(&processCPU, (time.Duration(usage.Utime.Nano()) + time.Duration(usage.Stime.Nano())).Seconds())
	}
	if resident, err := procfs.ResidentBytes(procfs.Self); err == nil {
		set.Add(&processResident, float64(resident))
	}
	samples := []metrics.Sample{{Name: "/sched/goroutines:goroutines"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	for i, family := range []*Family{&goroutines, &heapObjects} {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			set.Add(family, float64(samples[i].Value.Uint64()))
		}
	}
}

// Seconds returns t in seconds since 1970, the unit of times in Prometheus.
func Seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin"
)

// warmUpTasks is the number of tasks per executor that run before the measurement.
const warmUpTasks = 10

var increment = bobbin.Func("increment", func(_ *bobbin.Task, n int) (int, error) { return n + 1, nil })

// driverFigures contains the measurements in the driver's process.
type driverFigures struct {
	TasksPerSecond float64
	CPUMicros      float64 // CPU time (user and system) per task in µs
	ExecutorKB     float64 // the driver's memory per registered executor, in units of 1,000 bytes
}

// drive is the driver function. It receives a workload from stdin and writes driverFigures to
// stdout.
func drive(ctx context.Context) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var r workload
	if err := in.Decode(&r); err != nil {
		return err
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	inputs := make([]int, max(r.Tasks, warmUpTasks*r.Executors))
	for i := range inputs {
		inputs[i] = i
	}
	before, word := liveBytes(), ""
	if err := errors.Join(out.Encode("ready"), in.Decode(&word)); err != nil {
		return err
	}
	// At this point all executors have registered.
	measured := driverFigures{ExecutorKB: float64(liveBytes()-before) / 1e3 / float64(r.Executors)}
	if err := runTasks(ctx, session, inputs[:warmUpTasks*r.Executors]); err != nil {
		return err
	}
	began, cpuBefore := time.Now(), cpuTime()
	if err := runTasks(ctx, session, inputs[:r.Tasks]); err != nil {
		return err
	}
	measured.TasksPerSecond = float64(r.Tasks) / time.Since(began).Seconds()
	measured.CPUMicros = float64((cpuTime() - cpuBefore).Nanoseconds()) / 1e3 / float64(r.Tasks)
	return errors.Join(out.Encode(measured), in.Decode(&word))
}

func runTasks(ctx context.Context, session *bobbin.Session, inputs []int) error {
	results, err := increment.Run(ctx, session, inputs)
	if err != nil {
		return err
	}
	for i, result := range results {
		if result != inputs[i]+1 {
			return fmt.Errorf("the task of %d returned %d", inputs[i], result)
		}
	}
	return nil
}

// liveBytes returns the memory in use by the heap and by stacks after a garbage collection, in
// bytes.
func liveBytes() uint64 {
	runtime.GC()
	runtime.GC() // the second collection also frees objects with finalizers and objects in pools
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc + memory.StackInuse
}

// cpuTime returns the CPU time (user and system) of this process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // cannot fail for the current process
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Command scale measures a driver with very many executors: how long they take
// to register when all come at once, how many tasks that do nothing it runs
// over them in a second, with their heartbeats on, and what each task, each
// waiting task and each executor costs it.
//
// The driver has a process of its own, so that what it takes is its alone. The
// executors are simulated: there are many in each of a few processes, but every
// one is a whole executorbackend with a connection of its own, over TLS and
// gRPC on loopback, and does everything that an executor in a container does
// but start and test its disk. The same is measured with few executors, before
// and after, to show what their number costs. Tasks come in several sets, so that
// the driver's collector has its part in it.
//
// Tasks that do nothing go to about as few executors as can run what the driver
// sends; how many these are is told. With -prefer each task prefers a host; where all
// executors have hosts of their own, all get some.
//
// The processes are this program's own children. They end with it.
//
// Usage, from the module's root:
//
//	go run ./bench/scale [-executors 10000] [-few 100] [-cores 1] [-hosts 500] [-tasks 1000000] [-sets 3] [-prefer] [-profiles DIR]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/bobbin-yarn/bobbin/bench/figures"
)

// Roles of this program's processes, given as their only argument.
const (
	roleDriver    = "driver"
	roleExecutors = "executors"
)

// sameEach is about how many tasks are run where each executor has as many as with
// all executors: in sets, one after the other.
const sameEach = 500_000

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	role, run := "", measure
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case roleDriver:
			role, run = " "+roleDriver, runDriver
		case roleExecutors:
			role, run = " "+roleExecutors, runExecutors
		}
	}
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "bench scale%s: %v\n", role, err)
		os.Exit(1)
	}
}

// measure is the process that was started by hand.
func measure(ctx context.Context) error {
	options := round{}
	flag.IntVar(&options.Executors, "executors", 10_000, "how many executors")
	few := flag.Int("few", 100, "how many executors to compare with")
	flag.IntVar(&options.Cores, "cores", 1, "cores of each executor, which run a task each")
	flag.IntVar(&options.Tasks, "tasks", 1_000_000, "how many tasks in a set")
	sets := flag.Int("sets", 3, "how many sets, one after the other")
	flag.IntVar(&options.processes, "processes", runtime.NumCPU(), "over how many processes the executors are spread; as many as there are cores unless told otherwise: more would only take turns")
	flag.IntVar(&options.Hosts, "hosts", 500, "over how many hosts the executors say to be spread")
	flag.BoolVar(&options.Prefer, "prefer", false, "have each task prefer a host, one after the other: those that prefer none go to as few executors as can run what the driver sends")
	flag.StringVar(&options.Profiles, "profiles", "", "a `directory` for profiles of the driver and of a process of executors; none where it is empty")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("%q: there are no arguments, only flags", flag.Args())
	}
	for name, value := range map[string]int{
		"executors": options.Executors, "few": *few, "sets": *sets, "cores": options.Cores, "hosts": options.Hosts, "tasks": options.Tasks, "processes": options.processes,
	} {
		if value < 1 {
			return fmt.Errorf("-%s %d: want at least 1", name, value)
		}
	}
	if err := checkFiles(options); err != nil {
		return err
	}
	options.Sets = *sets
	small := options
	small.Executors = *few
	// A hundredth of the executors with all of the tasks may get many more with each
	// message; so that is looked at apart. Without -prefer few executors get any.
	like := small
	like.Tasks = max(options.Tasks/options.Executors, 1) * small.Executors
	like.Sets = max(sameEach/like.Tasks, 1)

	outcomes, err := runAll(ctx, small, like, options, small, like)
	if err != nil {
		return err
	}
	before, many, after := outcomes[:2], outcomes[2], outcomes[3:]
	smallMicros := (before[0].CPUMicros + after[0].CPUMicros) / 2
	likeMicros := (before[1].CPUMicros + after[1].CPUMicros) / 2
	err = figures.Print(os.Stdout,
		figures.Figure{Name: fmt.Sprintf("scale/register-%d-seconds", options.Executors), Value: many.registering.Seconds(), Unit: "s"},
		figures.Figure{Name: "scale/refused", Value: float64(many.refused)},
		figures.Figure{Name: "scale/tasks-per-second", Value: many.TasksPerSecond, Unit: "1/s"},
		figures.Figure{Name: "scale/executors-that-ran-tasks", Value: float64(many.Worked)},
		figures.Figure{Name: "scale/driver-cpu-us-per-task", Value: many.CPUMicros, Unit: "us"},
		figures.Figure{Name: fmt.Sprintf("scale/driver-cpu-us-per-task-with-%d", small.Executors), Value: smallMicros, Unit: "us"},
		figures.Figure{Name: fmt.Sprintf("scale/driver-cpu-us-per-task-with-%d-and-as-many-tasks-each", small.Executors), Value: likeMicros, Unit: "us"},
		figures.Figure{Name: "scale/driver-cpu-over-few", Value: many.CPUMicros / smallMicros},
		figures.Figure{Name: "scale/driver-cpu-over-few-and-as-many-tasks-each", Value: many.CPUMicros / likeMicros},
		figures.Figure{Name: "scale/driver-collector-us-per-task", Value: many.CollectorMicros, Unit: "us"},
		figures.Figure{Name: "scale/driver-allocated-bytes-per-task", Value: many.AllocatedBytes, Unit: "B"},
		figures.Figure{Name: fmt.Sprintf("scale/driver-allocated-bytes-per-task-with-%d-and-as-many-tasks-each", small.Executors), Value: before[1].AllocatedBytes, Unit: "B"},
		figures.Figure{Name: "scale/rss-mb", Value: many.ResidentMB, Unit: "MB"},
		figures.Figure{Name: "scale/driver-kb-per-executor", Value: many.ExecutorKB, Unit: "kB"},
		figures.Figure{Name: fmt.Sprintf("scale/driver-kb-per-executor-with-%d", small.Executors), Value: before[0].ExecutorKB, Unit: "kB"},
		figures.Figure{Name: "scale/driver-bytes-per-waiting-task", Value: many.WaitingTaskBytes, Unit: "B"},
		figures.Figure{Name: "scale/executor-kb", Value: many.ownKB, Unit: "kB"},
	)
	if many.refused > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d executors did not register at their first try: %s", many.refused, options.Executors, many.reason))
	}
	return err
}

// runAll measures rounds, one after the other.
func runAll(ctx context.Context, rounds ...round) ([]outcome, error) {
	var outcomes []outcome
	for _, r := range rounds {
		result, err := r.run(ctx)
		if err != nil {
			return nil, fmt.Errorf("with %d executors and %d sets of %d tasks: %w", r.Executors, r.Sets, r.Tasks, err)
		}
		outcomes = append(outcomes, result)
	}
	return outcomes, nil
}

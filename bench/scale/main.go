// Command scale measures a driver with 10,000 executors: how long the executors need to
// register if all start at the same time, and the memory and CPU time of the driver while it
// runs tasks that call a function from int to int (Func.Run).
//
// The driver is a user's program (bobbin.Main) in its own process, on a simulated standalone
// cluster. This process is the master. The executors run in as many processes as this machine
// has cores. Each executor is a complete executorbackend with its own gRPC connection over TLS
// on loopback. It only omits the test of a container's disk.
//
// Usage, from the module's root:
//
//	go run ./bench/scale [-executors 10000] [-tasks 1000000]
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
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/bench/figures"
)

// Roles of this program's child processes. The role is a child's only argument.
const (
	roleDriver    = "driver"
	roleExecutors = "executors"
)

const (
	timeout = 5 * time.Minute
	// spareFiles is the number of files that the driver may open in addition to its
	// connections.
	spareFiles = 100
)

func main() {
	run := measure
	switch {
	case len(os.Args) == 2 && os.Args[1] == roleDriver:
		bobbin.Main(drive)
	case len(os.Args) == 2 && os.Args[1] == roleExecutors:
		run = runExecutors
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench scale:", err)
		os.Exit(1)
	}
}

// workload is the number of executors and tasks. It is the first value on the driver's stdin.
type workload struct{ Executors, Tasks int }

// measurement contains the results of the benchmark.
type measurement struct {
	driverFigures
	registering time.Duration // from the start of the executors until the last one has registered
	refused     int           // number of executors that did not register at their first try, or lost the driver
}

// measure runs the benchmark. It runs in the process that the user starts; children run drive
// or runExecutors.
func measure(ctx context.Context) error {
	r := workload{}
	flag.IntVar(&r.Executors, "executors", 10_000, "how many executors")
	flag.IntVar(&r.Tasks, "tasks", 1_000_000, "how many tasks")
	flag.Parse()
	if r.Executors < 1 || r.Tasks < 1 || flag.NArg() > 0 {
		return errors.New("want at least 1 executor and 1 task, and no arguments")
	}
	if err := checkFiles(r.Executors); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %v", timeout))
	defer cancel()
	result, err := r.run(ctx)
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return figures.Print(os.Stdout,
		figures.Figure{Name: fmt.Sprintf("scale/register-%d-seconds", r.Executors), Value: result.registering.Seconds(), Unit: "s"},
		figures.Figure{Name: "scale/refused", Value: float64(result.refused)},
		figures.Figure{Name: "scale/tasks-per-second", Value: result.TasksPerSecond, Unit: "1/s"},
		figures.Figure{Name: "scale/driver-cpu-us-per-task", Value: result.CPUMicros, Unit: "us"},
		figures.Figure{Name: "scale/driver-kb-per-executor", Value: result.ExecutorKB, Unit: "kB"},
	)
}

// checkFiles fails if the limit of open files is too low for the driver. Go's runtime has
// already raised the soft limit to the hard limit.
func checkFiles(executors int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("the limit of open files: %w", err)
	}
	if needed := uint64(executors + spareFiles); limit.Cur < needed {
		return fmt.Errorf("the driver needs %d open files, one for each executor's connection, and may have %d: raise the limit "+
			"(as root: ulimit -n %d) or give fewer -executors", needed, limit.Cur, needed)
	}
	return nil
}

// run starts the driver and then the executors, returns their measurements, and stops them.
func (r workload) run(ctx context.Context) (result measurement, err error) {
	master, err := startMaster(r.Executors)
	if err != nil {
		return result, err
	}
	defer master.stop()
	var executors []*child
	defer func() {
		for _, process := range executors {
			err = errors.Join(err, process.stop())
		}
	}()
	driver, err := startChild(ctx, roleDriver, master.environment()...)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, driver.stop()) }()
	ready := ""
	if err := errors.Join(driver.send(r), driver.receive(&ready)); err != nil {
		return result, err
	}
	command := <-master.command // the driver sends the command before it is ready

	began := time.Now()
	first, processes := 1, runtime.NumCPU()
	for i := range processes {
		process, err := startChild(ctx, roleExecutors)
		if err != nil {
			return result, err
		}
		executors = append(executors, process)
		part := executorShare{Address: command.GetDriver(), Pass: command.GetPass(), First: first, Count: (r.Executors + i) / processes} // the counts add up to r.Executors
		if err := process.send(part); err != nil {
			return result, err
		}
		first += part.Count
	}
	select {
	case last := <-master.all:
		result.registering = last.Sub(began)
	case <-ctx.Done():
		return result, fmt.Errorf("not all executors have registered: %w", context.Cause(ctx))
	}

	if err := errors.Join(driver.send("run"), driver.receive(&result.driverFigures)); err != nil {
		return result, err
	}
	for _, process := range executors {
		refused := 0
		if err := errors.Join(process.send("report"), process.receive(&refused)); err != nil {
			return result, err
		}
		result.refused += refused
	}
	return result, driver.send("stop")
}

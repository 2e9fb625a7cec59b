// Command plans runs a job of the benchmark bench/data several times in one session. Before the
// first run, it waits until all executors have registered. It writes a measurement as JSON to a
// local file of the driver's machine.
//
//	plans FILE RUNS CORES JOB OUT [IN...]
//
// JOB is wordcount, sort, join or pagerank, which are the jobs of the examples; terasort;
// tpch-q1, tpch-q3, tpch-q6 or tpch-q18; or shuffle, a shuffle of 10,000 by 10,000 partitions
// without records. Each run writes its output to a directory below OUT whose name is the run's
// number, from 0 on. CORES is the number of cores of all executors together.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/internal/procfs"
)

// measurement is the content of FILE.
type measurement struct {
	Seconds         []float64 // duration of each run
	DriverMegabytes float64   // peak resident memory of the driver's process in units of 1,000,000 bytes
}

// awaitExecutors is the task function of a barrier set with a task for each core. The set
// starts only when all executors have registered.
var awaitExecutors = bobbin.Func("registered", func(*bobbin.Task, int) (int, error) { return 0, nil })

func main() {
	profile()
	bobbin.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, args []string) error {
	if len(args) < 5 {
		return errors.New("usage: plans FILE RUNS CORES JOB OUT [IN...]")
	}
	file, name, out, in := args[0], args[3], args[4], args[5:]
	runs, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	cores, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	job, found := jobs[name]
	if !found {
		return fmt.Errorf("there is no job %q", name)
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if _, err := awaitExecutors.Run(ctx, session, make([]int, cores), bobbin.Barrier()); err != nil {
		return err
	}
	var result measurement
	for i := range runs {
		began := time.Now()
		if err := job(ctx, session, path.Join(out, strconv.Itoa(i)), in); err != nil {
			return err
		}
		result.Seconds = append(result.Seconds, time.Since(began).Seconds())
	}
	peak, err := procfs.PeakResidentBytes(procfs.Self)
	if err != nil {
		return err
	}
	result.DriverMegabytes = float64(peak) / 1e6
	content, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

// Command tasks measures how many empty tasks per second bobbin runs on a real Hadoop cluster,
// and how long a task set of one task takes. For comparison it measures Apache Spark with the
// same number and size of executors.
//
// bobbin and Spark run one after the other on a cluster that the benchmark starts. bobbin runs
// task sets one after the other for some seconds. Spark computes the sum of spark.range(0, n,
// 1, n) four times; the benchmark uses the fastest run.
//
// Usage, from the module's root, after make build:
//
//	go run ./bench/tasks [-runs 2] [-spark=false] [-viewers 50]
//
// With -viewers N, each run of bobbin is followed by a run with an event log and N simulated
// viewers, who load the application's pages through the ResourceManager's proxy. The other runs
// write no event log. The figure tasks/watched-cpu is the CPU time of the ApplicationMaster and
// the executors, divided by the number of tasks, with viewers over that without. The figure
// tasks/watched is the rate of tasks with viewers divided by the rate without. The rate also drops
// because the ResourceManager and the viewers use the same cores.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/bench/figures"
	"github.com/bobbin-yarn/bobbin/bench/spark"
	"github.com/bobbin-yarn/bobbin/bench/testbed"
)

const (
	executors     = 2
	executorCores = 2
	driverCores   = 2 // cores of bobbin's driver; Spark's driver may use all cores of the machine

	sparkTasks     = 10_000 // number of tasks in one run of Spark
	tasksInSet     = 20_000
	throughputTime = 5 * time.Second
	roundTrips     = 2000
	// throughputTimeWatched replaces throughputTime in all runs if there are viewers. It is
	// longer, because viewers load a page only every two seconds.
	throughputTimeWatched = 20 * time.Second

	runTimeout   = 2 * time.Minute
	sparkTimeout = 20 * time.Minute
)

func main() {
	runs := flag.Int("runs", 2, "how often bobbin is measured; Spark's turn comes after the first")
	submit := flag.String("submit", "bin/yarn-submit", "the yarn-submit to measure")
	withSpark := flag.Bool("spark", true, "whether to measure Spark too")
	viewers := flag.Int("viewers", 0, "how many people watch every second run; 0 for no such runs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, options{runs: *runs, submit: *submit, spark: *withSpark, viewers: *viewers}); err != nil {
		fmt.Fprintln(os.Stderr, "bench tasks:", err)
		os.Exit(1)
	}
}

type options struct {
	runs    int
	submit  string // path of yarn-submit
	spark   bool   // measure Spark, too
	viewers int    // number of viewers in every second run; 0 for no such runs
}

type bench struct {
	options
	dir     string // directory for temporary files
	program string // path of the program bench/tasks/noops
	hadoop  *testbed.Testbed
	pyspark *spark.Installation // nil without Spark
}

func run(ctx context.Context, o options) (err error) {
	if o.runs < 1 {
		return fmt.Errorf("-runs %d: want at least 1", o.runs)
	}
	b := &bench{options: o}
	if o.spark {
		// Find Spark before starting the cluster, so that missing software is reported at once.
		if b.pyspark, err = spark.Find(ctx); err != nil {
			return err
		}
	}
	if b.dir, err = os.MkdirTemp("", "bobbin-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.program, err = testbed.Build(ctx, b.dir, "./bench/tasks/noops"); err != nil {
		return err
	}
	return testbed.Use(ctx, b.dir, nil, func(hadoop *testbed.Testbed) error {
		b.hadoop = hadoop
		return b.measure(ctx)
	})
}

// measure runs bobbin and Spark and prints the figures.
func (b *bench) measure(ctx context.Context) error {
	var rates, trips, costs, watchedRates, watchedCosts []float64
	sparkRate := 0.0
	for i := range b.runs {
		result, err := b.bobbin(ctx, "--conf", "eventLog.enabled="+strconv.FormatBool(b.viewers == 0))
		if err != nil {
			return fmt.Errorf("bobbin: %w", err)
		}
		result.print("bobbin")
		rates = append(rates, result.TasksPerSecond)
		trips = append(trips, result.RoundTripMillis)
		costs = append(costs, result.cpuPerTask)
		if b.viewers > 0 {
			if result, err = b.runWatched(ctx); err != nil {
				return fmt.Errorf("bobbin, watched: %w", err)
			}
			result.print(fmt.Sprintf("bobbin, watched by %d", b.viewers))
			watchedRates = append(watchedRates, result.TasksPerSecond)
			watchedCosts = append(watchedCosts, result.cpuPerTask)
		}
		if i == 0 && b.spark {
			if sparkRate, err = b.sparkRate(ctx); err != nil {
				return fmt.Errorf("spark: %w", err)
			}
		}
	}
	rate := figures.Median(rates)
	printed := []figures.Figure{{Name: "tasks/per-second", Value: rate, Unit: "1/s"}}
	if b.spark {
		printed = append(printed,
			figures.Figure{Name: "tasks/over-spark", Value: rate / sparkRate},
			figures.Figure{Name: "tasks/spark-per-second", Value: sparkRate, Unit: "1/s"})
	}
	if b.viewers > 0 {
		printed = append(printed,
			figures.Figure{Name: "tasks/watched-cpu", Value: figures.Median(watchedCosts) / figures.Median(costs)},
			figures.Figure{Name: "tasks/watched", Value: figures.Median(watchedRates) / rate})
	}
	printed = append(printed, figures.Figure{Name: "tasks/round-trip-ms", Value: figures.Median(trips), Unit: "ms"})
	return figures.Print(os.Stdout, printed...)
}

// noopFigures is the result that the program bench/tasks/noops writes.
type noopFigures struct {
	TasksPerSecond  float64
	RoundTripMillis float64

	// cpuPerTask is the CPU time of the application's processes, divided by the number of tasks
	// in large task sets. The program does not write it.
	cpuPerTask float64 // µs
}

func (f noopFigures) print(who string) {
	fmt.Fprintf(os.Stderr, "%s: %.0f tasks/s, %.3f µs of CPU a task, round trip %.3f ms\n", who, f.TasksPerSecond, f.cpuPerTask, f.RoundTripMillis)
}

// bobbin runs the program bench/tasks/noops. flags are additional flags of yarn-submit submit.
func (b *bench) bobbin(ctx context.Context, flags ...string) (noopFigures, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	file := filepath.Join(b.dir, "noops.json")
	lasts := throughputTime
	if b.viewers > 0 {
		lasts = throughputTimeWatched
	}
	args := append(flags, "--num-executors", strconv.Itoa(executors),
		"--executor-cores", strconv.Itoa(executorCores), "--driver-cores", strconv.Itoa(driverCores),
		b.program, file, strconv.Itoa(tasksInSet), strconv.Itoa(int(lasts.Seconds())), strconv.Itoa(roundTrips))
	usage, err := b.hadoop.Measure(ctx, func(ctx context.Context) error { return b.hadoop.Submit(ctx, b.submit, args...) })
	if err != nil {
		return noopFigures{}, err
	}
	var result noopFigures
	err = errors.Join(testbed.ReadJSON(file, &result), b.hadoop.AwaitIdle(ctx))
	result.cpuPerTask = usage.CPU.Seconds() * 1e6 / (result.TasksPerSecond * lasts.Seconds())
	return result, err
}

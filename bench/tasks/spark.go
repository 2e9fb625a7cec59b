package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bobbin-yarn/bobbin/bench/spark"
	"github.com/bobbin-yarn/bobbin/bench/testbed"
)

// sparkRuns is the number of times that Spark runs the tasks. The benchmark uses the fastest
// run, because the JVM is cold in the first.
const sparkRuns = 4

//go:embed range.py
var rangeScript []byte

// rangeTimes is the result that the PySpark program range.py writes.
type rangeTimes struct {
	Version string
	Seconds []float64
}

// sparkRate returns the number of tasks per second of Spark's fastest run.
func (b *bench) sparkRate(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, sparkTimeout)
	defer cancel()
	file := filepath.Join(b.dir, "range.json")
	err := b.pyspark.Run(ctx, spark.Program{
		Dir:       b.dir,
		ConfDir:   b.hadoop.ConfDir,
		Script:    rangeScript,
		Args:      []string{file, strconv.Itoa(sparkTasks), strconv.Itoa(sparkRuns)},
		Executors: executors,
		Cores:     executorCores,
	})
	if err != nil {
		return 0, err
	}
	var times rangeTimes
	if err := errors.Join(testbed.ReadJSON(file, &times), b.hadoop.AwaitIdle(ctx)); err != nil {
		return 0, err
	}
	if len(times.Seconds) == 0 {
		return 0, errors.New("range.py measured nothing")
	}
	rate := float64(sparkTasks) / slices.Min(times.Seconds)
	fmt.Fprintf(os.Stderr, "Spark %s: %.0f tasks/s; %d tasks took %.1f s\n", times.Version, rate, sparkTasks, times.Seconds)
	return rate, nil
}

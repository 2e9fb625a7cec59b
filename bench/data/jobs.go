package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/bench/data/limit"
	"github.com/bobbin-yarn/bobbin/bench/spark"
	"github.com/bobbin-yarn/bobbin/bench/testbed"
	"github.com/bobbin-yarn/bobbin/storage"
)

// job is one of the jobs that are measured.
type job struct {
	name   string
	inputs []string
	// inMemory does the job without bobbin, with all bytes in memory: bobbin's time is
	// compared with its time, the limit. It is nil if that is not measured.
	inMemory func(ctx context.Context, files *storage.Files, out string, in ...string) error
	// compare compares outputs of bobbin and Spark with inMemory's. If inMemory is nil, it
	// compares those of terasort with the input, and bobbin's of other jobs with Spark's.
	compareFunc
}

var jobs = []job{
	{"wordcount", []string{textInput}, limit.WordCount, compareLines},
	{"sort", []string{textInput}, limit.Sort, compareLinesInOrder},
	{"join", []string{leftInput, rightInput}, limit.Join, compareLines},
	{"pagerank", []string{linksInput}, limit.PageRank, compareRanks},
	{terasort, []string{recordsInput}, nil, checkSortedRecords},
	{"tpch-q1", []string{tablesInput}, nil, compareLinesInOrder},
	{"tpch-q3", []string{tablesInput}, nil, compareLinesInOrder},
	{"tpch-q6", []string{tablesInput}, nil, compareLinesInOrder},
	{"tpch-q18", []string{tablesInput}, nil, compareLinesInOrder},
}

// terasort is the name of a job, tpch of a group of jobs: their names begin with "tpch-".
const (
	terasort = "terasort"
	tpch     = "tpch"
)

// group returns the part of the job's name before a "-".
func (j job) group() string {
	group, _, _ := strings.Cut(j.name, "-")
	return group
}

// result is what was measured of an application, which runs a job several times.
type result struct {
	Seconds         []float64 // of each run
	DriverMegabytes float64   // peak of bobbin's driver; 0 for Spark
	usage
}

// output returns the path of a run's output. by is "bobbin", "spark" or "limit".
func (j job) output(by string, run int) string {
	return path.Join("/bench", j.name, by, strconv.Itoa(run))
}

// runInMemory runs j.inMemory several times, and returns the seconds of the fastest run.
func (b *bench) runInMemory(ctx context.Context, j job) (float64, error) {
	fastest := math.Inf(1)
	for run := range runs {
		debug.FreeOSMemory()
		began := time.Now()
		if err := j.inMemory(ctx, b.files, j.output("limit", run), j.inputs...); err != nil {
			return 0, fmt.Errorf("limit: %w", err)
		}
		fastest = min(fastest, time.Since(began).Seconds())
	}
	debug.FreeOSMemory()
	fmt.Fprintf(os.Stderr, "%s: limit %.2f s\n", j.name, fastest)
	return fastest, nil
}

// withUsage calls run, which runs an application, and measures the memory and CPU time of its
// processes. The application writes its result as JSON to file. what names it in messages.
func (b *bench) withUsage(ctx context.Context, what, file string, run func(context.Context) error) (r result, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	sampling, stop := context.WithCancel(ctx)
	watched := make(chan usage)
	go func() { watched <- watch(sampling, b.dir) }()
	began := time.Now()
	err = run(ctx)
	took := time.Since(began)
	stop()
	r.usage = <-watched
	if err != nil {
		return r, fmt.Errorf("%s: %w", what, err)
	}
	err = errors.Join(testbed.ReadJSON(file, &r), b.hadoop.AwaitIdle(ctx))
	fmt.Fprintf(os.Stderr, "%s: %.2f s, %.0f MB; the application took %.1f s, and %.1f s of CPU\n",
		what, r.Seconds, float64(r.peak)/1e6, took.Seconds(), r.cpu.Seconds())
	return r, err
}

// runBobbin runs a job of bench/data/plans.
func (b *bench) runBobbin(ctx context.Context, name string, runs int, out string, in []string, options ...string) (result, error) {
	file := filepath.Join(b.dir, "plans.json")
	args := append([]string{"--num-executors", strconv.Itoa(executors), "--executor-cores", strconv.Itoa(executorCores),
		"--executor-memory", "1g"}, options...)
	if b.profiles != "" {
		profiles := filepath.Join(b.profiles, name)
		if err := os.MkdirAll(profiles, 0o755); err != nil {
			return result{}, err
		}
		args = append(args, "--conf", "executorEnv.BENCH_PROFILES="+profiles)
	}
	args = append(args, b.program, file, strconv.Itoa(runs), strconv.Itoa(executors*executorCores), name, out)
	return b.withUsage(ctx, "bobbin's "+name, file, func(ctx context.Context) error {
		return b.hadoop.Submit(ctx, b.submit, append(args, in...)...)
	})
}

//go:embed jobs.py
var jobsScript []byte

// runSpark runs a job of jobs.py.
func (b *bench) runSpark(ctx context.Context, j job) (result, error) {
	file := filepath.Join(b.dir, "spark.json")
	arguments, err := json.Marshal(map[string]any{"File": file, "Runs": runs + 1, "Job": j.name,
		"Out": path.Dir(j.output("spark", 0)), "In": j.inputs, "Iterations": limit.Iterations, "Cores": executors * executorCores})
	if err != nil {
		return result{}, err
	}
	return b.withUsage(ctx, "Spark's "+j.name, file, func(ctx context.Context) error {
		return b.pyspark.Run(ctx, spark.Program{
			Dir:       b.dir,
			ConfDir:   b.hadoop.ConfDir,
			Script:    jobsScript,
			Args:      []string{string(arguments)},
			Executors: executors,
			Cores:     executorCores,
			Environ:   []string{envMeasured + b.dir},
		})
	})
}

// fastest returns the least of the times.
func (r result) fastest() float64 { return slices.Min(r.Seconds) }

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

type job struct {
	name   string
	inputs []string
	// inMemory computes the job's result without bobbin, in the memory of this process. Its
	// time is the limit to which bobbin's time is compared. It is nil if the job has no limit.
	inMemory func(ctx context.Context, files *storage.Files, out string, in ...string) error
	// compareFunc compares bobbin's and Spark's outputs with the output of inMemory. If
	// inMemory is nil, it compares outputs of terasort with the input, and bobbin's outputs of
	// other jobs with Spark's.
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

// terasort is the name of a job. tpch is the name of the group of jobs whose names begin with
// "tpch-".
const (
	terasort = "terasort"
	tpch     = "tpch"
)

// group returns the part of the job's name before "-".
func (j job) group() string {
	group, _, _ := strings.Cut(j.name, "-")
	return group
}

// result contains the measurements of an application that runs one job several times.
type result struct {
	Seconds         []float64 // duration of each run
	DriverMegabytes float64   // peak resident memory of bobbin's driver in units of 1,000,000 bytes; 0 for Spark
	testbed.Usage
}

// output returns the path of a run's output. The parameter "by" is one of "bobbin", "spark" and
// "limit".
func (j job) output(by string, run int) string {
	return path.Join("/bench", j.name, by, strconv.Itoa(run))
}

// runInMemory runs j.inMemory several times, and returns the duration of the fastest run in
// seconds.
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

// withUsage calls run, which runs an application, and measures the memory and the CPU time of
// the application's processes. The application must write its result as JSON to the given file.
// The parameter "what" is the application's name in messages.
func (b *bench) withUsage(ctx context.Context, what, file string, run func(context.Context) error) (r result, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	began := time.Now()
	r.Usage, err = b.hadoop.Measure(ctx, run)
	took := time.Since(began)
	if err != nil {
		return r, fmt.Errorf("%s: %w", what, err)
	}
	err = errors.Join(testbed.ReadJSON(file, &r), b.hadoop.AwaitIdle(ctx))
	fmt.Fprintf(os.Stderr, "%s: %.2f s, %.0f MB; the application took %.1f s, and %.1f s of CPU\n",
		what, r.Seconds, float64(r.Peak)/1e6, took.Seconds(), r.CPU.Seconds())
	return r, err
}

// runBobbin runs a job of the program bench/data/plans the given number of times.
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

// runSpark runs a job of the PySpark program jobs.py.
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
			Environ:   []string{testbed.MeasuredVariable + "=" + b.dir},
		})
	})
}

// fastest returns the duration of the fastest run in seconds.
func (r result) fastest() float64 { return slices.Min(r.Seconds) }

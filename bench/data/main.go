// Command data measures jobs on data sets on a real Hadoop cluster that it starts: word count,
// sort, join, PageRank, TeraSort and queries of TPC-H. It compares bobbin with Apache Spark.
// Both have the same number and size of executors and read the same files in HDFS. It also
// compares the first four jobs with programs that compute the same results in memory, the limit
// (see package limit).
//
// The inputs are a text of millions of different words, whose frequencies follow Zipf's law;
// two tables to join, with 3/8 and 1/8 of the text's bytes; a graph of pages, whose numbers of
// incoming links follow Zipf's law; TeraSort's records of 100 bytes; and TPC-H's tables
// lineitem, orders and customer as Parquet files, which Spark writes.
//
// The time of a job begins when the executors have registered. bobbin runs a job three times in
// one application, and the benchmark uses the median. Spark runs a job four times in one
// session, with DataFrames, and the benchmark uses the fastest run, in which the JVM is warm.
// Both write text to HDFS, or records in TeraSort. The benchmark compares the outputs, and
// TeraSort's outputs with the input. It prints the times of whole applications, and the CPU
// time of their processes, to stderr.
//
// JOB-over-limit is bobbin's time divided by the time of the limit, which is the fastest of
// three runs. JOB-over-spark is Spark's time divided by bobbin's.
//
// The queries Q1, Q3, Q6 and Q18 of TPC-H have the parameters of the specification's
// validation. tpch-over-spark is the geometric mean of their figures over-spark. These figures
// are not results of TPC-H, which has more queries, tables and rules.
//
// Memory is the largest sum of the resident memory of the driver and the executors, sampled
// every 50 ms. bobbin's driver runs in its ApplicationMaster. For Spark, the sum includes the
// driver's JVM, but neither Python nor the ApplicationMaster.
//
// driver-mb is the peak memory of bobbin's driver for a shuffle of 10,000 by 10,000 partitions
// without records.
//
// Usage, from the module's root, after make build:
//
//	go run ./bench/data [-megabytes 512] [-links 2000000] [-records 10000000] [-scale 1] [-only wordcount,tpch] [-spark=false]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/bench/figures"
	"github.com/bobbin-yarn/bobbin/bench/spark"
	"github.com/bobbin-yarn/bobbin/bench/testbed"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/storage"
)

const (
	executors     = 2
	executorCores = 2

	runs      = 3
	blockSize = 128 << 20 // block size of HDFS: Hadoop's default

	shuffle           = "shuffle" // name of the job that is measured for the figure driver-mb
	shufflePartitions = 10_000

	jobTimeout = 20 * time.Minute

	minScale, maxScale = 0.01, 50.0
)

type options struct {
	megabytes int64    // size of the text; the tables of the join have half of it
	links     int64    // number of links of PageRank's graph
	records   int64    // number of TeraSort's records
	scale     float64  // scale factor of TPC-H
	seed      uint64   // seed of the inputs, other than TPC-H's tables
	only      []string // names of jobs or groups of jobs to measure; empty for all
	submit    string   // path of yarn-submit
	spark     bool     // measure Spark, too
	profiles  string   // directory for CPU profiles; "" means not to write any
}

func main() {
	var o options
	flag.Int64Var(&o.megabytes, "megabytes", 512, "size of the text; the tables of the join have half of it")
	flag.Int64Var(&o.links, "links", 2_000_000, "links of the graph")
	flag.Int64Var(&o.records, "records", 10_000_000, "records of TeraSort, of 100 bytes each")
	flag.Float64Var(&o.scale, "scale", 1, "scale factor of TPC-H's tables: 1 has six million line items")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the inputs, other than TPC-H's tables")
	only := flag.String("only", "", "comma-separated jobs to measure: wordcount, sort, join, pagerank, terasort, tpch (tpch-q1, tpch-q3, tpch-q6, tpch-q18), shuffle; default all")
	flag.StringVar(&o.submit, "submit", "bin/yarn-submit", "the yarn-submit to measure")
	flag.BoolVar(&o.spark, "spark", true, "whether to measure Spark too; TPC-H's tables need it anyway")
	flag.StringVar(&o.profiles, "profile", "", "directory for CPU profiles of bobbin's executors: JOB/PID-SECOND.pprof")
	flag.Parse()
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench data:", err)
		os.Exit(1)
	}
}

type bench struct {
	options
	dir     string // directory for temporary files
	program string // path of the program bench/data/plans
	hadoop  *testbed.Testbed
	files   *storage.Files
	pyspark *spark.Installation // nil if no job to measure needs Spark
}

// check returns an error if the options are invalid, and makes paths absolute.
func (o *options) check() (err error) {
	if o.megabytes < 1 || o.links < parts || o.records < parts {
		return errors.New("-megabytes, -links and -records must be positive")
	}
	if !(o.scale >= minScale && o.scale <= maxScale) {
		return fmt.Errorf("-scale must be %v to %v", minScale, maxScale)
	}
	for _, name := range o.only {
		if name != shuffle && !slices.ContainsFunc(jobs, func(j job) bool { return j.name == name || j.group() == name }) {
			return fmt.Errorf("-only: there is no job %q", name)
		}
	}
	if o.profiles != "" {
		o.profiles, err = filepath.Abs(o.profiles)
	}
	return err
}

// wanted reports whether the options select a job.
func (o *options) wanted(j job) bool {
	return len(o.only) == 0 || slices.Contains(o.only, j.name) || slices.Contains(o.only, j.group())
}

func run(ctx context.Context, o options) (err error) {
	b := &bench{options: o}
	if err := b.check(); err != nil {
		return err
	}
	needsTables := func(j job) bool { return b.wanted(j) && slices.Contains(j.inputs, tablesInput) }
	if b.spark || slices.ContainsFunc(jobs, needsTables) {
		// Find Spark before starting the cluster, so that missing software is reported at once.
		if b.pyspark, err = spark.Find(ctx); err != nil {
			return err
		}
	}
	if b.dir, err = os.MkdirTemp("", "bobbin-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.program, err = testbed.Build(ctx, b.dir, "./bench/data/plans"); err != nil {
		return err
	}
	hdfs := cluster.Properties{"dfs.blocksize": strconv.Itoa(blockSize)}
	return testbed.Use(ctx, b.dir, hdfs, func(hadoop *testbed.Testbed) error {
		b.hadoop = hadoop
		settings, err := conf.Load(hadoop.ConfDir)
		if err != nil {
			return err
		}
		b.files = storage.New(storage.Options{Hadoop: settings})
		return errors.Join(b.measure(ctx), b.files.Close())
	})
}

// measurement contains the results of one job that the summary needs.
type measurement struct {
	job
	peak, sparkPeak uint64  // peak memory of bobbin's and Spark's processes in bytes
	overSpark       float64 // Spark's time divided by bobbin's; 0 without Spark
}

// measure measures the selected jobs and prints their figures and the summary.
func (b *bench) measure(ctx context.Context) error {
	generated := map[string]bool{}
	var measured []measurement
	for _, j := range jobs {
		if !b.wanted(j) {
			continue
		}
		for _, input := range j.inputs {
			if !generated[input] {
				if err := b.generate(ctx, input); err != nil {
					return err
				}
				generated[input] = true
			}
		}
		m, err := b.measureJob(ctx, j)
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
		measured = append(measured, m)
	}
	if err := figures.Print(os.Stdout, b.summary(measured)...); err != nil {
		return err
	}
	if !b.wanted(job{name: shuffle}) {
		return nil
	}
	result, err := b.runBobbin(ctx, shuffle, 1, "-", nil, "--conf", "shuffle.partitions="+strconv.Itoa(shufflePartitions))
	if err != nil {
		return err
	}
	return figures.Print(os.Stdout,
		figures.Figure{Name: "data/driver-mb", Value: result.DriverMegabytes, Unit: "MB"},
		figures.Figure{Name: "data/shuffle-seconds", Value: figures.Median(result.Seconds), Unit: "s"})
}

// summary returns the figures for all measured jobs together: the largest peak memory, and the
// geometric mean of overSpark of TPC-H's queries.
func (b *bench) summary(measured []measurement) (result []figures.Figure) {
	var peak, sparkPeak uint64
	product, queries := 1.0, 0
	for _, m := range measured {
		peak, sparkPeak = max(peak, m.peak), max(sparkPeak, m.sparkPeak)
		if m.group() == tpch {
			product *= m.overSpark
			queries++
		}
	}
	if b.spark && queries > 0 {
		result = append(result, figures.Figure{Name: "data/tpch-over-spark", Value: math.Pow(product, 1/float64(queries))})
	}
	if peak > 0 {
		result = append(result, figures.Figure{Name: "data/memory-mb", Value: float64(peak) / 1e6, Unit: "MB"})
	}
	if sparkPeak > 0 {
		result = append(result, figures.Figure{Name: "data/memory-over-spark", Value: float64(peak) / float64(sparkPeak)})
	}
	return result
}

// measureJob measures a job, compares its outputs, and prints its figures.
func (b *bench) measureJob(ctx context.Context, j job) (m measurement, err error) {
	defer func() {
		err = errors.Join(err, b.files.RemoveAll(context.WithoutCancel(ctx), path.Join("/bench", j.name)))
	}()
	want, limit := "", 0.0
	switch {
	case j.inMemory != nil:
		want = j.output("limit", 0)
		if limit, err = b.runInMemory(ctx, j); err != nil {
			return m, err
		}
	case j.name == terasort:
		want = j.inputs[0]
	}
	m.job = j
	bobbin, err := b.runBobbin(ctx, j.name, runs, path.Dir(j.output("bobbin", 0)), j.inputs)
	if err != nil {
		return m, err
	}
	m.peak = bobbin.Peak
	outputs := []string{j.output("bobbin", runs-1)}
	seconds := figures.Median(bobbin.Seconds)
	printed := []figures.Figure{{Name: "data/" + j.name + "-seconds", Value: seconds, Unit: "s"}}
	if j.inMemory != nil {
		printed = append(printed, figures.Figure{Name: "data/" + j.name + "-over-limit", Value: seconds / limit})
	}
	if b.spark {
		sparks, err := b.runSpark(ctx, j)
		if err != nil {
			return m, err
		}
		outputs = append(outputs, j.output("spark", runs))
		m.sparkPeak, m.overSpark = sparks.Peak, sparks.fastest()/seconds
		printed = append(printed, figures.Figure{Name: "data/" + j.name + "-over-spark", Value: m.overSpark})
	}
	if want == "" {
		want, outputs = outputs[len(outputs)-1], outputs[:len(outputs)-1]
	}
	for _, output := range outputs {
		if err := j.compareFunc(ctx, b.files, want, output); err != nil {
			return m, err
		}
	}
	return m, figures.Print(os.Stdout, printed...)
}

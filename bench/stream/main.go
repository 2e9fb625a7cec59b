// Command stream measures a word count by yarn-submit stream and by Hadoop Streaming, on a real
// Hadoop cluster that it starts. Both read the same text in HDFS, and run the same awk programs
// as mapper, combiner and reducer.
//
// The text is the source code of the Go distribution, in files of one split each. Both commands
// run alternately, each with at most four tasks at the same time. The time of a run is that of
// the whole command, as a user sees it. The benchmark prints the medians. It fails if the
// outputs of two runs differ.
//
// Usage, from the module's root, after make build:
//
//	go run ./bench/stream [-megabytes 128] [-runs 3] [-hadoop=false]
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/bench/figures"
	"github.com/bobbin-yarn/bobbin/bench/testbed"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/integration/text"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/storage"
)

const (
	executors     = 2
	executorCores = 2
	reducers      = 2
	fileBytes     = 32 << 20 // size of an input file, which is one split
	inputs        = "/bench/in"
)

//go:embed pom.xml
var pom []byte

// scripts are the files that both commands send to the cluster, by name.
var scripts = map[string]string{
	"words.awk": `{ for (i = 1; i <= NF; i++) print $i "\t1" }`,
	"sum.awk":   `$1 "" != word { if (NR > 1) print word "\t" n; word = $1; n = 0 } { n += $2 } END { print word "\t" n }`,
}

// logging is a Log4j configuration with which Hadoop Streaming prints why a job failed.
const logging = `log4j.rootLogger=INFO, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.layout=org.apache.log4j.SimpleLayout
`

const mapper, reducer = "awk -f words.awk", `awk -F \t -f sum.awk`

type bench struct {
	megabytes int64
	runs      int
	submit    string // path of yarn-submit
	compare   bool   // whether to measure Hadoop Streaming as well

	dir    string // directory for temporary files
	jars   []string
	hadoop *testbed.Testbed
	files  *storage.Files
}

func main() {
	b := &bench{}
	flag.Int64Var(&b.megabytes, "megabytes", 128, "size of the text")
	flag.IntVar(&b.runs, "runs", 3, "runs of each command")
	flag.StringVar(&b.submit, "submit", "bin/yarn-submit", "the yarn-submit to measure")
	flag.BoolVar(&b.compare, "hadoop", true, "whether to measure Hadoop Streaming too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench stream:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.megabytes < 1 || b.runs < 1 {
		return errors.New("-megabytes and -runs must be positive")
	}
	if b.submit, err = filepath.Abs(b.submit); err != nil {
		return err
	}
	if b.compare {
		// Find Hadoop Streaming before starting the cluster, so that missing software is
		// reported at once.
		logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
		mapReduce, err := cluster.JarsOf(ctx, pom, cluster.DefaultHadoopVersion, logger)
		if err != nil {
			return err
		}
		daemons, err := cluster.Jars(ctx, cluster.DefaultHadoopVersion, logger) // contains Jetty, which MapReduce's ApplicationMaster needs
		if err != nil {
			return err
		}
		b.jars = mapReduce
		for _, jar := range daemons {
			if !slices.Contains(mapReduce, jar) {
				b.jars = append(b.jars, jar)
			}
		}
	}
	if b.dir, err = os.MkdirTemp("", "bobbin-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	for name, content := range scripts {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return testbed.UseWith(ctx, b.dir, cluster.Options{ShuffleService: true}, func(hadoop *testbed.Testbed) error {
		b.hadoop = hadoop
		settings, err := conf.Load(hadoop.ConfDir)
		if err != nil {
			return err
		}
		b.files = storage.New(storage.Options{Hadoop: settings})
		return errors.Join(b.measure(ctx), b.files.Close())
	})
}

// measure runs both commands alternately and prints the medians.
func (b *bench) measure(ctx context.Context) error {
	if err := b.generate(ctx); err != nil {
		return err
	}
	var bobbin, hadoop []float64
	for i := range b.runs {
		out := fmt.Sprintf("/bench/out-%d", i)
		seconds, err := b.time(ctx, b.stream(ctx, out))
		if err != nil {
			return err
		}
		bobbin = append(bobbin, seconds)
		if !b.compare {
			continue
		}
		command, err := b.hadoopStreaming(ctx, out+"-hadoop")
		if err != nil {
			return err
		}
		if seconds, err = b.time(ctx, command); err != nil {
			return err
		}
		hadoop = append(hadoop, seconds)
		if err := b.compareOutputs(ctx, out, out+"-hadoop"); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "yarn-submit stream %.1f s, Hadoop Streaming %.1f s\n", bobbin, hadoop)
	printed := []figures.Figure{{Name: "stream/seconds", Value: figures.Median(bobbin), Unit: "s"}}
	if b.compare {
		printed = append(printed, figures.Figure{Name: "stream/over-hadoop", Value: figures.Median(hadoop) / figures.Median(bobbin)})
	}
	return figures.Print(os.Stdout, printed...)
}

// generate writes the text to HDFS, in files of at most fileBytes that end with a line end.
func (b *bench) generate(ctx context.Context) error {
	var content bytes.Buffer
	if _, err := text.WriteGoSources(ctx, &content, b.megabytes<<20); err != nil {
		return err
	}
	all := content.Bytes()
	for number := 0; len(all) > 0; number++ {
		end := min(len(all), fileBytes)
		if newline := bytes.LastIndexByte(all[:end], '\n'); newline >= 0 && end < len(all) {
			end = newline + 1
		}
		file, err := b.files.Create(ctx, fmt.Sprintf("%s/part-%d", inputs, number))
		if err != nil {
			return err
		}
		_, err = file.Write(all[:end])
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		all = all[end:]
	}
	return nil
}

// time runs a command, waits until it ends, and returns its duration in seconds.
func (b *bench) time(ctx context.Context, command *exec.Cmd) (float64, error) {
	if err := b.hadoop.AwaitIdle(ctx); err != nil {
		return 0, err
	}
	command.Dir = b.dir
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = time.Minute
	began := time.Now()
	if output, err := command.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", command.Path, errors.Join(err, context.Cause(ctx)), output)
	}
	return time.Since(began).Seconds(), nil
}

// stream returns the command that counts words with yarn-submit stream.
func (b *bench) stream(ctx context.Context, out string) *exec.Cmd {
	command := exec.CommandContext(ctx, b.submit, "stream", "--files", "words.awk,sum.awk", "--map", mapper, "--combine", reducer, "--reduce", reducer,
		"--reducers", strconv.Itoa(reducers), "--num-executors", strconv.Itoa(executors), "--executor-cores", strconv.Itoa(executorCores),
		"--executor-memory", "1g", inputs, out)
	command.Env = append(os.Environ(), "HADOOP_CONF_DIR="+b.hadoop.ConfDir)
	return command
}

// hadoopStreaming returns the command that counts words with Hadoop Streaming. It runs at most
// as many tasks at the same time as yarn-submit stream.
func (b *bench) hadoopStreaming(ctx context.Context, out string) (*exec.Cmd, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, err
	}
	if java, err = filepath.EvalSymlinks(java); err != nil {
		return nil, err
	}
	home := filepath.Dir(filepath.Dir(java))
	const options = "-Xmx768m --add-opens=java.base/java.lang=ALL-UNNAMED"
	tasks := strconv.Itoa(executors * executorCores)
	log := filepath.Join(b.dir, "log4j.properties")
	if err := os.WriteFile(log, []byte(logging), 0o644); err != nil {
		return nil, err
	}
	args := []string{"--add-opens=java.base/java.lang=ALL-UNNAMED", "-Dlog4j.configuration=file:" + log, "-cp", b.hadoop.ConfDir + ":" + strings.Join(b.jars, ":"), "org.apache.hadoop.streaming.HadoopStreaming"}
	for _, property := range []string{
		"mapreduce.framework.name=yarn",
		"mapreduce.application.classpath=" + strings.Join(b.jars, ","),
		"yarn.app.mapreduce.am.env=JAVA_HOME=" + home, "mapreduce.map.env=JAVA_HOME=" + home, "mapreduce.reduce.env=JAVA_HOME=" + home,
		"yarn.app.mapreduce.am.command-opts=" + options, "mapreduce.map.java.opts=" + options, "mapreduce.reduce.java.opts=" + options,
		"yarn.app.mapreduce.am.resource.mb=1024",
		"mapreduce.job.running.map.limit=" + tasks, "mapreduce.job.running.reduce.limit=" + tasks,
		"mapreduce.job.reduces=" + strconv.Itoa(reducers),
	} {
		args = append(args, "-D", property)
	}
	args = append(args, "-files", "words.awk,sum.awk", "-mapper", mapper, "-combiner", reducer, "-reducer", reducer, "-input", inputs, "-output", out)
	command := exec.CommandContext(ctx, java, args...)
	command.Env = append(os.Environ(), "HADOOP_CONF_DIR="+b.hadoop.ConfDir, "JAVA_HOME="+home)
	return command, nil
}

// compareOutputs returns an error if the part files of two output directories differ.
func (b *bench) compareOutputs(ctx context.Context, one, other string) error {
	read := func(directory string) (all []byte, names []string, err error) {
		entries, err := b.files.List(ctx, directory)
		for _, entry := range entries {
			if !strings.HasPrefix(entry.Name, "part-") {
				continue
			}
			file, err := b.files.Open(ctx, entry.Path)
			if err != nil {
				return nil, nil, err
			}
			content, err := io.ReadAll(file)
			if err = errors.Join(err, file.Close()); err != nil {
				return nil, nil, err
			}
			all, names = append(all, content...), append(names, fmt.Sprintf("%s, %d bytes", entry.Name, len(content)))
		}
		return all, names, err
	}
	first, names, err := read(one)
	if err != nil {
		return err
	}
	second, others, err := read(other)
	if err != nil {
		return err
	}
	if !slices.Equal(names, others) || !bytes.Equal(first, second) || len(first) == 0 {
		return fmt.Errorf("%s has %q, %s has %q, which differ", one, names, other, others)
	}
	return nil
}

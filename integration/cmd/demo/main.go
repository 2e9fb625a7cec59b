// Command demo counts the words of a real text on a real Hadoop cluster. It starts the cluster,
// writes the text to HDFS, runs wordcount with yarn-submit, compares the result with counts
// that it has computed without bobbin, and stops the cluster.
//
// Usage, from the module's root, after make build:
//
//	go run ./integration/cmd/demo
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/integration/text"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/storage"
)

const (
	textBytes   = 100 << 20
	input       = "hdfs:///demo/go-sources.txt"
	output      = "hdfs:///demo/counts"
	stopTimeout = time.Minute
)

func main() {
	bin := flag.String("bin", "bin", "where make build has put the programs")
	version := flag.String("hadoop", cluster.DefaultHadoopVersion, "the Hadoop release to run on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, *version); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, version string) (err error) {
	began := time.Now()
	say := func(format string, arguments ...any) {
		fmt.Fprintf(os.Stderr, "[%5.1fs] %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, arguments...))
	}
	dir, err := os.MkdirTemp("", "bobbin-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	say("starting Hadoop %s: a NameNode, a ResourceManager, and two nodes", version)
	hadoop, err := cluster.Start(ctx, cluster.Options{
		Dir: dir, HadoopVersion: version,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer func() {
		say("stopping Hadoop")
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, hadoop.Stop(bounded))
	}()

	settings, err := conf.Load(hadoop.ConfDir())
	if err != nil {
		return err
	}
	files := storage.New(storage.Options{Hadoop: settings})
	defer func() { err = errors.Join(err, files.Close()) }()

	say("putting the Go distribution's sources into %s", input)
	want, err := putText(ctx, files)
	if err != nil {
		return err
	}
	say("counting its words on YARN: yarn-submit submit %s/wordcount %s %s", bin, input, output)
	submit := exec.CommandContext(ctx, bin+"/yarn-submit", "submit", "--master", "yarn", "--num-executors", "2",
		bin+"/wordcount", input, output)
	submit.Env = append(os.Environ(), "HADOOP_CONF_DIR="+hadoop.ConfDir())
	submit.Stdout, submit.Stderr = io.Discard, os.Stderr
	submit.Cancel = func() error { return submit.Process.Signal(os.Interrupt) }
	submit.WaitDelay = stopTimeout
	if err := submit.Run(); err != nil {
		return fmt.Errorf("yarn-submit: %w", err)
	}
	got, err := text.ReadCounts(ctx, files, output)
	if err != nil {
		return err
	}
	if difference := text.Difference(want, got); difference != "" {
		return fmt.Errorf("the counts are wrong: %s", difference)
	}
	say("%d words, %d of them different: the same as counted without bobbin", total(got), len(got))
	for _, word := range text.Top(got, 20) {
		fmt.Printf("%8d  %s\n", got[word], word)
	}
	return nil
}

// putText writes the text to HDFS and returns the expected word counts.
func putText(ctx context.Context, files *storage.Files) (map[string]int64, error) {
	var sources bytes.Buffer
	if _, err := text.WriteGoSources(ctx, &sources, textBytes); err != nil {
		return nil, err
	}
	file, err := files.Create(ctx, input)
	if err != nil {
		return nil, err
	}
	if _, err := file.Write(sources.Bytes()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	return text.Count(sources.Bytes()), nil
}

func total(counts map[string]int64) int64 {
	var sum int64
	for _, n := range counts {
		sum += n
	}
	return sum
}

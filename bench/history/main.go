// Command history measures how fast yarn-submit history shows an application of a million
// tasks, and how much memory it uses. For comparison it measures Spark's history server with an
// event log of the same application in Spark's format, as bobbin writes it for
// eventLog.spark.dir. It checks that this server shows the same numbers of tasks.
//
// The times begin with the start of the process. yarn-submit's time ends when the page no
// longer says that the log is being read. The time of Spark's server ends when it returns the
// application's jobs. The time of the page Stream is that of a headless Chromium, from the
// request until the tasks are drawn. It needs chromium.
//
// Usage, from the module's root, after make build:
//
//	go run ./bench/history [-tasks 1000000] [-spark=false]
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/bench/figures"
	"github.com/bobbin-yarn/bobbin/bench/spark"
	"github.com/bobbin-yarn/bobbin/integration/browser"
)

const (
	runs         = 3 // number of runs of yarn-submit; the benchmark uses the median
	ownTimeout   = time.Minute
	sparkTimeout = 10 * time.Minute
)

func main() {
	tasks := flag.Int("tasks", 1_000_000, "how many tasks the application has")
	submit := flag.String("submit", "bin/yarn-submit", "the yarn-submit to measure")
	withSpark := flag.Bool("spark", true, "whether to measure Spark's history server too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *tasks, *submit, *withSpark); err != nil {
		fmt.Fprintln(os.Stderr, "bench history:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, tasks int, submit string, withSpark bool) (err error) {
	var installation *spark.Installation
	if withSpark {
		// Find Spark before the measurements, so that missing software is reported at once.
		if installation, err = spark.Find(ctx); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "bobbin-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintf(os.Stderr, "writing the event logs of %d tasks\n", tasks)
	written, err := writeLogs(ctx, dir, tasks)
	if err != nil {
		return err
	}
	if size(written.bobbin) == 0 || size(written.spark) == 0 || written.totals.Done != tasks {
		return fmt.Errorf("the logs are not complete: %d of %d tasks done", written.totals.Done, tasks)
	}
	b, err := browser.Start(ctx, browser.DesktopWidth, browser.DesktopHeight)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	var first, all, stream, memory []float64
	for range runs {
		shown, err := measureOwn(ctx, b, submit, written.bobbin)
		if err != nil {
			return fmt.Errorf("yarn-submit history: %w", err)
		}
		fmt.Fprintf(os.Stderr, "yarn-submit: first page after %.2f s, all after %.2f s, stream in %.2f s, %.0f MB\n",
			shown.first.Seconds(), shown.all.Seconds(), shown.stream.Seconds(), shown.megabytes)
		first, all = append(first, shown.first.Seconds()), append(all, shown.all.Seconds())
		stream, memory = append(stream, shown.stream.Seconds()), append(memory, shown.megabytes)
	}
	printed := []figures.Figure{
		{Name: "history/log-mb", Value: float64(size(written.bobbin)) / 1e6, Unit: "MB"},
		{Name: "history/first-page-seconds", Value: figures.Median(first), Unit: "s"},
		{Name: "history/seconds", Value: figures.Median(all), Unit: "s"},
		{Name: "history/stream-seconds", Value: figures.Median(stream), Unit: "s"},
		{Name: "history/mb", Value: figures.Median(memory), Unit: "MB"},
	}
	if withSpark {
		seconds, err := measureSpark(ctx, installation, written)
		if err != nil {
			return fmt.Errorf("the history server of Spark: %w", err)
		}
		fmt.Fprintf(os.Stderr, "Spark %s: %.1f s, log of %.1f MB, equal counts\n", spark.Version, seconds, float64(size(written.spark))/1e6)
		printed = append(printed,
			figures.Figure{Name: "history/over-spark", Value: seconds / figures.Median(all)},
			figures.Figure{Name: "history/spark-seconds", Value: seconds, Unit: "s"})
	}
	return figures.Print(os.Stdout, printed...)
}

// historyTimes contains the measurements of one run of yarn-submit history: the time until the
// first page, the time until the page shows the whole log, the time in which the page Stream is
// then drawn, and the peak memory.
type historyTimes struct {
	first, all, stream time.Duration
	megabytes          float64 // peak resident memory of the process in units of 1,000,000 bytes
}

// measureOwn runs yarn-submit history with a log until its page shows the whole log, and then
// opens the page Stream in the browser.
func measureOwn(ctx context.Context, b *browser.Browser, submit, path string) (s historyTimes, err error) {
	ctx, cancel := context.WithTimeout(ctx, ownTimeout)
	defer cancel()
	began := time.Now()
	command := exec.CommandContext(ctx, submit, "history", "--dir", "file://"+filepath.Dir(path), application)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = ownTimeout
	var messages bytes.Buffer
	command.Stderr = &messages
	output, err := command.StdoutPipe()
	if err != nil {
		return s, err
	}
	if err := command.Start(); err != nil {
		return s, err
	}
	defer func() {
		cancel()
		_ = command.Wait() // the process was interrupted
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, messages.String())
		}
	}()
	url, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return s, err
	}
	for s.all == 0 {
		page, err := get(ctx, strings.TrimSpace(url))
		if err != nil {
			return s, err
		}
		if s.first == 0 {
			s.first = time.Since(began)
		}
		if !bytes.Contains(page, []byte("still being read")) {
			s.all = time.Since(began)
		}
	}
	began = time.Now()
	if err := b.Open(ctx, strings.TrimSpace(url)+"?page=stream"); err != nil {
		return s, err
	}
	if err := b.AwaitDrawing(ctx); err != nil {
		return s, err
	}
	s.stream = time.Since(began)
	s.megabytes, err = peakMemory(command.Process.Pid)
	return s, err
}

// get returns the body of the response to a GET request. It fails if the status is not 200.
func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // the body was only read
	content, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, answer.Status)
	}
	return content, err
}

var peakMemoryLine = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peakMemory returns the peak resident memory of a process in units of 1,000,000 bytes.
func peakMemory(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	found := peakMemoryLine.FindSubmatch(status)
	if found == nil {
		return 0, errors.New("the memory of the process is unknown")
	}
	kilobytes, err := strconv.ParseFloat(string(found[1]), 64)
	return kilobytes * 1024 / 1e6, err
}

// sparkJob is a job in the responses of Spark's history server.
type sparkJob struct {
	Status            string
	NumTasks          int
	NumCompletedTasks int
	NumFailedTasks    int
}

// measureSpark returns the time in seconds until Spark's history server shows an application.
// It fails if the server's numbers of tasks differ from those in the log.
func measureSpark(ctx context.Context, installation *spark.Installation, written eventLogs) (seconds float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, sparkTimeout)
	defer cancel()
	began := time.Now()
	server, err := installation.StartHistoryServer(ctx, filepath.Dir(written.spark))
	if err != nil {
		return 0, err
	}
	defer func() {
		if output := server.Stop(); err != nil {
			err = fmt.Errorf("%w\n%s", err, output)
		}
	}()
	var all []sparkJob
	if err := server.Get(ctx, "applications/"+application+"/1/jobs", &all); err != nil {
		return 0, err
	}
	seconds = time.Since(began).Seconds()
	return seconds, checkCounts(ctx, server, all, written)
}

// checkCounts checks that the numbers of tasks that Spark's history server shows equal those in
// the log. all are the jobs that it shows.
func checkCounts(ctx context.Context, server *spark.HistoryServer, all []sparkJob, written eventLogs) error {
	var sum sparkJob
	for _, job := range all {
		if job.Status != "SUCCEEDED" {
			return fmt.Errorf("a job is %s", job.Status)
		}
		sum.NumTasks += job.NumTasks
		sum.NumCompletedTasks += job.NumCompletedTasks
		sum.NumFailedTasks += job.NumFailedTasks
	}
	t := written.totals
	want := sparkJob{NumTasks: t.Tasks, NumCompletedTasks: t.Done, NumFailedTasks: t.FailedAttempts}
	if sum != want || len(all) != t.Jobs {
		return fmt.Errorf("it counts %+v in %d jobs, and the log has %+v in %d", sum, len(all), want, t.Jobs)
	}
	var tasks []struct{ TotalTasks, FailedTasks int }
	if err := server.Get(ctx, "applications/"+application+"/1/allexecutors", &tasks); err != nil {
		return err
	}
	total, failed := 0, 0
	for _, executor := range tasks {
		total += executor.TotalTasks
		failed += executor.FailedTasks
	}
	if len(tasks) != executors || total != t.Done+t.FailedAttempts || failed != t.FailedAttempts {
		return fmt.Errorf("it counts %d attempts, %d of them failed, on %d executors, and the log has %d and %d on %d",
			total, failed, len(tasks), t.Done+t.FailedAttempts, t.FailedAttempts, executors)
	}
	return nil
}

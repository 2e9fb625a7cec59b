package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/command"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/storage"
)

// resultsDirectory is the path of the results directory relative to the user's directory.
const resultsDirectory = "/.bobbin/results"

// recordsTimeout is how long run waits until a killed driver has written its last task outcomes.
const recordsTimeout = 2 * time.Second

// interruptTimeout limits the collection of results after the user has interrupted yarn-submit.
const interruptTimeout = 30 * time.Second

// resultCollector downloads the collected files and reads the task outcomes of an ended
// application, and writes the JUnit file.
type resultCollector struct {
	terminal terminal
	plan     *command.Plan
	files    *storage.Files
	summary  string // path of the JUnit file; "" for none
	// ownDirectory is set if plan.Results is a directory that only this run uses. The results can
	// then be found without the application's id.
	ownDirectory bool
	// keepOnSuccess is set if the results of a successful application are kept for later runs with
	// the same idempotency key.
	keepOnSuccess bool
	maxAge        time.Duration // age after which results of other runs are removed
}

// newCollector returns a collector and sets plan.Results. If the driver and the executors run on
// this machine, plan.Results is a temporary local directory. Otherwise, also in client mode, it is
// a directory in the shared file system, beside the staged files.
func (w *runJob) newCollector(t terminal) (*resultCollector, error) {
	f := &resultCollector{terminal: t, plan: w.plan, summary: w.flags.summary, ownDirectory: w.target.driverHere || !w.target.keepsResults, maxAge: config.CacheMaxAge.In(w.settings),
		keepOnSuccess: config.IdempotencyKey.In(w.settings) != ""}
	if w.target.onOneMachine {
		directory, err := os.MkdirTemp("", "yarn-submit-results-")
		if err != nil {
			return nil, err
		}
		f.files = storage.New(storage.Options{})
		f.plan.Results = "file://" + directory
		return f, nil
	}
	var err error
	if f.files, f.plan.Results, err = sharedResults(t, w.settings, w.flags.verbose); err != nil {
		return nil, err
	}
	if f.ownDirectory {
		if f.keepOnSuccess && !w.target.keepsResults {
			return nil, client.UsageError(errors.Join(errors.New("--collect and --summary with an idempotency key are for YARN: "+
				"elsewhere only the run that submits a driver finds its results"), f.files.Close()))
		}
		f.plan.Results += "/" + strings.ToLower(rand.Text())
	}
	return f, nil
}

// sharedResults returns file systems that this machine and all nodes can access, and the URI of
// this user's results directory.
func sharedResults(t terminal, settings *config.Config, verbose bool) (*storage.Files, string, error) {
	hadoop, err := hadoopOf(settings)
	if err != nil {
		return nil, "", err
	}
	base := config.StagingDir.In(settings)
	if hadoop == nil && base == "" {
		return nil, "", client.UsageError(errors.New("--collect and --summary need a file system that this machine and all nodes reach: " +
			"set HADOOP_CONF_DIR for HDFS, or name a shared directory with --conf yarn.stagingDir=file:///…"))
	}
	identity, err := client.Login(hadoop, settings) // not closed, because files uses it until this process ends
	if err != nil {
		return nil, "", err
	}
	files := storage.New(identity.Storage(storage.Options{Hadoop: hadoop, Logger: t.logger(verbose)}))
	base, err = files.Qualify(strings.TrimRight(cmp.Or(base, "/user"), "/") + "/" + identity.User + resultsDirectory)
	if err != nil {
		return nil, "", client.UsageError(errors.Join(err, files.Close()))
	}
	return files, base, nil
}

// hadoopOf returns the Hadoop configuration of the environment; nil if there is none.
func hadoopOf(settings *config.Config) (*conf.Config, error) {
	hadoop, err := conf.FromEnvironment(config.Hadoop.In(settings))
	if errors.Is(err, conf.ErrNotConfigured) {
		return nil, nil
	}
	return hadoop, client.UsageError(err)
}

func (f *resultCollector) close() {
	if err := f.files.Close(); err != nil {
		f.terminal.logger(false).Debug("closing the connections to HDFS", "error", err)
	}
}

// run collects the results of an application that ended with the error err. run returns its own
// errors joined with err, and err comes last.
func (f *resultCollector) run(ctx context.Context, report *client.Report, err error) error {
	ctx, cancel := finishContext(ctx)
	defer cancel()
	var failure *client.Failure
	if errors.As(err, &failure) {
		f.keepOnSuccess = false // a retry with the same idempotency key starts another application
	}
	summary := command.JUnitSummary{Now: time.Now()}
	if report != nil {
		summary.ApplicationID = report.ApplicationID
	}
	if err != nil {
		summary.Problem, _, _ = strings.Cut(err.Error(), "\n")
	}
	directory, results, problem := f.results(ctx, &summary)
	if f.summary != "" {
		problem = errors.Join(problem, f.writeSummary(results, summary))
	}
	if problem == nil && summary.ApplicationID != "" {
		for i, step := range results.Steps {
			if name := f.plan.Steps[i].Name; name != "" {
				f.terminal.console.Print("  %-10s %s", name, step.Counts())
			}
		}
	}
	complete := problem == nil
	if collected, collectErr := results.Collect(ctx, f.files); collectErr != nil {
		complete = false
		problem = errors.Join(problem, fmt.Errorf("%w; the files of the tasks are in %s", collectErr, directory))
	} else if collected.Files > 0 {
		f.terminal.console.Print("collected %d files, %d bytes", collected.Files, collected.Bytes)
	}
	steps, patterns := results.Unmatched()
	for i, pattern := range patterns {
		f.terminal.console.Warn("collect: no task%s has left a file that matches %s", ofStep(steps[i]), pattern)
	}
	if complete && summary.ApplicationID != "" {
		if f.ownDirectory {
			directory = f.plan.Results
		}
		f.clean(ctx, directory)
	}
	if problem != nil {
		if err == nil {
			return problem
		}
		return errors.Join(problem, err)
	}
	return err
}

// finishContext returns ctx. If ctx has ended, it returns a context that ends after
// interruptTimeout.
func finishContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), interruptTimeout)
}

func ofStep(name string) string {
	if name == "" {
		return ""
	}
	return " of step " + name
}

// results reads the outcomes of the tasks. It returns the outcomes and the directory that contains
// them.
func (f *resultCollector) results(ctx context.Context, summary *command.JUnitSummary) (directory string, results *command.Results, err error) {
	if f.ownDirectory { // on a standalone cluster, the report contains the driver's id instead of the application's
		summary.ApplicationID = f.newestApplication(ctx)
	}
	if summary.ApplicationID == "" {
		return f.plan.Results, command.UnfinishedResults(f.plan), nil
	}
	directory = command.ResultsDirectory(f.plan.Results, summary.ApplicationID)
	// A killed driver may still be writing its last outcomes, so retry for recordsTimeout.
	for deadline := time.Now().Add(recordsTimeout); ; {
		if results, err = command.ReadResults(ctx, f.files, directory, f.plan); err != nil {
			return directory, command.UnfinishedResults(f.plan), err
		}
		if !results.IsIncomplete() || time.Now().After(deadline) || ctx.Err() != nil {
			return directory, results, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(recordsTimeout / 4):
		}
	}
}

// newestApplication returns the id of the application with the newest results; "" if there are
// none. There may be several applications, because a restarted driver registers a new application.
func (f *resultCollector) newestApplication(ctx context.Context) string {
	entries, err := f.files.List(ctx, f.plan.Results)
	if err != nil || len(entries) == 0 {
		return ""
	}
	return slices.MaxFunc(entries, func(a, b storage.Info) int { return a.ModTime.Compare(b.ModTime) }).Name
}

// writeSummary writes the JUnit file under a temporary name and then renames it, so that readers
// never see an incomplete file.
func (f *resultCollector) writeSummary(results *command.Results, summary command.JUnitSummary) error {
	if err := os.MkdirAll(filepath.Dir(f.summary), 0o777); err != nil {
		return fmt.Errorf("the summary: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(f.summary), "."+filepath.Base(f.summary)+"-*")
	if err != nil {
		return fmt.Errorf("the summary: %w", err)
	}
	err = errors.Join(results.WriteJUnit(file, summary), file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), f.summary)
	}
	if err != nil {
		return fmt.Errorf("the summary: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

// clean removes the results of this run if keepOnSuccess is not set. It also removes results of
// other runs that are older than maxAge.
func (f *resultCollector) clean(ctx context.Context, directory string) {
	if !f.keepOnSuccess {
		if err := f.files.RemoveAll(ctx, directory); err != nil {
			f.terminal.console.Warn("%v; remove it by hand", err)
		}
	}
	parent := directory[:strings.LastIndexByte(directory, '/')]
	if !strings.HasSuffix(parent, resultsDirectory) {
		return
	}
	entries, err := f.files.List(ctx, parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if time.Since(entry.ModTime) > f.maxAge {
			_ = f.files.RemoveAll(ctx, entry.Path) // after an error, the next run tries to remove it again
		}
	}
	_ = f.files.Remove(ctx, parent) // fails unless the directory is empty
}

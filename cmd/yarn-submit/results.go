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
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/storage"
)

// resultsDirectory is where results lie below a user's directory.
const resultsDirectory = "/.bobbin/results"

// lastWords is how long the records of a driver that was killed are waited for.
const lastWords = 2 * time.Second

// lateFinish bounds what is done after an interruption.
const lateFinish = 30 * time.Second

// finisher brings back what the tasks leave, and says what became of them.
type finisher struct {
	t       terminal
	plan    *command.Plan
	files   *storage.Files
	summary string // "" for none
	// alone tells that the directory of results is this run's own, so that the
	// application need not be known by its id.
	alone bool
	// keeps leaves the results of an application that has succeeded: a later run with
	// the same key asks for them again.
	keeps  bool
	maxAge time.Duration // of results that others have left
}

// newFinisher chooses where the results are to lie: on this machine where all of
// the application is, and otherwise beside what is staged.
func (w *work) newFinisher(t terminal) (*finisher, error) {
	f := &finisher{t: t, plan: w.plan, summary: w.flags.summary, alone: w.target.driverHere || !w.target.keepsResults, maxAge: config.CacheMaxAge.In(w.settings),
		keeps: config.IdempotencyKey.In(w.settings) != ""}
	if w.target.oneMachine {
		directory, err := os.MkdirTemp("", "yarn-submit-results-")
		if err != nil {
			return nil, err
		}
		f.files = storage.New(storage.Options{})
		f.plan.Results = "file://" + directory
		return f, nil
	}
	var err error
	if f.files, f.plan.Results, err = shared(t, w.settings, w.flags.verbose); err != nil {
		return nil, err
	}
	if f.alone {
		if f.keeps && !w.target.keepsResults {
			return nil, client.Usage(errors.Join(errors.New("--collect and --summary with an idempotency key are for YARN: "+
				"elsewhere only the run that submits a driver finds its results"), f.files.Close()))
		}
		f.plan.Results += "/" + strings.ToLower(rand.Text())
	}
	return f, nil
}

// shared is the file system that this machine and all nodes reach, and the
// directory of this user's results there, a URI.
func shared(t terminal, settings *config.Config, verbose bool) (*storage.Files, string, error) {
	hadoop, err := conf.FromEnvironment(config.Hadoop.In(settings))
	if errors.Is(err, conf.ErrNotConfigured) {
		hadoop, err = nil, nil
	}
	if err != nil {
		return nil, "", client.Usage(err)
	}
	base := config.StagingDir.In(settings)
	if hadoop == nil && base == "" {
		return nil, "", client.Usage(errors.New("--collect and --summary need a file system that this machine and all nodes reach: " +
			"set HADOOP_CONF_DIR for HDFS, or name a shared directory with --conf yarn.stagingDir=file:///…"))
	}
	user, err := security.CurrentUser()
	if err != nil {
		return nil, "", client.Usage(err)
	}
	files := storage.New(storage.Options{Hadoop: hadoop, User: user.Effective, Logger: t.logger(verbose)})
	base, err = files.Qualify(strings.TrimRight(cmp.Or(base, "/user"), "/") + "/" + user.Effective + resultsDirectory)
	if err != nil {
		return nil, "", client.Usage(errors.Join(err, files.Close()))
	}
	return files, base, nil
}

func (f *finisher) close() {
	if err := f.files.Close(); err != nil {
		f.t.logger(false).Debug("closing the connections to HDFS", "error", err)
	}
}

// run finishes an application that ended with err, which stays what is told
// last.
func (f *finisher) run(ctx context.Context, report *client.Report, err error) error {
	ctx, cancel := late(ctx)
	defer cancel()
	var failure *client.Failure
	if errors.As(err, &failure) {
		f.keeps = false // with the same key another is started
	}
	about := command.Summary{Now: time.Now()}
	if report != nil {
		about.ApplicationID = report.ApplicationID
	}
	if err != nil {
		about.Problem, _, _ = strings.Cut(err.Error(), "\n")
	}
	own, results, problem := f.results(ctx, &about)
	if f.summary != "" {
		problem = errors.Join(problem, f.writeSummary(results, about))
	}
	if problem == nil && about.ApplicationID != "" {
		for i, step := range results.Steps {
			if name := f.plan.Steps[i].Name; name != "" {
				f.t.console.Print("  %-10s %s", name, step.Counts())
			}
		}
	}
	complete := problem == nil
	if collected, failed := results.Collect(ctx, f.files); failed != nil {
		complete = false
		problem = errors.Join(problem, fmt.Errorf("%w; what the tasks gave lies in %s", failed, own))
	} else if collected.Files > 0 {
		f.t.console.Print("collected %d files, %d bytes", collected.Files, collected.Bytes)
	}
	steps, patterns := results.Unmatched()
	for i, pattern := range patterns {
		f.t.console.Warn("collect: no task%s has left a file that matches %s", ofStep(steps[i]), pattern)
	}
	if complete && about.ApplicationID != "" {
		if f.alone {
			own = f.plan.Results
		}
		f.clean(ctx, own)
		if results.Open() {
			f.cleanAgain(ctx, own)
		}
	}
	if problem != nil {
		if err == nil {
			return problem
		}
		return errors.Join(problem, err)
	}
	return err
}

// late is a context for what is done after an interruption too, within limits.
func late(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), lateFinish)
}

func ofStep(name string) string {
	if name == "" {
		return ""
	}
	return " of step " + name
}

// results reads what became of the tasks, and where what they gave lies.
func (f *finisher) results(ctx context.Context, about *command.Summary) (own string, results *command.Results, err error) {
	if f.alone { // a standalone cluster's report has the driver's id
		about.ApplicationID = f.latest(ctx)
	}
	if about.ApplicationID == "" {
		return f.plan.Results, command.NoResults(f.plan), nil
	}
	own = command.ResultsOf(f.plan.Results, about.ApplicationID)
	// A driver that was killed writes what it knows last in its last moments.
	for last := time.Now().Add(lastWords); ; {
		if results, err = command.ReadResults(ctx, f.files, own, f.plan); err != nil {
			return own, command.NoResults(f.plan), err
		}
		if !results.Open() || time.Now().After(last) || ctx.Err() != nil {
			return own, results, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(lastWords / 4):
		}
	}
}

// latest is the application that has results here: the last one, where a driver
// was started again.
func (f *finisher) latest(ctx context.Context) string {
	entries, err := f.files.List(ctx, f.plan.Results)
	if err != nil || len(entries) == 0 {
		return ""
	}
	return slices.MaxFunc(entries, func(a, b storage.Info) int { return a.ModTime.Compare(b.ModTime) }).Name
}

// writeSummary writes the JUnit file in one go, so that nobody reads half of it.
func (f *finisher) writeSummary(results *command.Results, about command.Summary) error {
	if err := os.MkdirAll(filepath.Dir(f.summary), 0o777); err != nil {
		return fmt.Errorf("the summary: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(f.summary), "."+filepath.Base(f.summary)+"-*")
	if err != nil {
		return fmt.Errorf("the summary: %w", err)
	}
	err = errors.Join(results.WriteJUnit(file, about), file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), f.summary)
	}
	if err != nil {
		return fmt.Errorf("the summary: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

// cleanAgain removes what a driver has written that was killed and was not gone
// yet: a file of its makes the directory anew.
func (f *finisher) cleanAgain(ctx context.Context, own string) {
	for last := time.Now().Add(lastWords); time.Now().Before(last); {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lastWords / 4):
		}
		if there, err := f.files.Exists(ctx, own); err == nil && there {
			f.clean(ctx, own)
		}
	}
}

// clean removes what this run has left, and what others left long ago: their
// submitters have not seen the end.
func (f *finisher) clean(ctx context.Context, own string) {
	if !f.keeps {
		if err := f.files.RemoveAll(ctx, own); err != nil {
			f.t.console.Warn("%v; remove it by hand", err)
		}
	}
	all := own[:strings.LastIndexByte(own, '/')]
	if !strings.HasSuffix(all, resultsDirectory) {
		return
	}
	entries, err := f.files.List(ctx, all)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if time.Since(entry.ModTime) > f.maxAge {
			_ = f.files.RemoveAll(ctx, entry.Path) // the next one tries again
		}
	}
	_ = f.files.Remove(ctx, all) // where nothing is left in it
}

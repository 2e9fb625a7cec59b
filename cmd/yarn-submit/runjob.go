package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/command"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/process"
	"github.com/bobbin-yarn/bobbin/jobfile"
)

// runJob is the job of one invocation of yarn-submit run or yarn-submit stream.
type runJob struct {
	flags    *runFlags
	job      *jobfile.Job // nil if the job is a command on the command line or a streaming job
	plan     *command.Plan
	settings *config.Config
	target   target
}

// runJob creates the job from the settings and from the job file or the command line.
func (f *runFlags) runJob(t terminal, args []string) (*runJob, error) {
	w := &runJob{flags: f}
	if f.jobFile != "" {
		job, err := jobfile.Read(f.jobFile, os.LookupEnv)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("the job file %s does not exist", f.jobFile)
		}
		if err != nil {
			return nil, client.UsageError(err)
		}
		w.job = job
		settings, err := job.Settings()
		if err != nil {
			return nil, client.UsageError(err)
		}
		f.settingsFlags.fromJobFile = map[string]config.ValueWithPosition{}
		for _, setting := range settings {
			f.settingsFlags.fromJobFile[setting.Key] = config.ValueWithPosition{Value: setting.Value, Place: position(f.jobFile, setting.At)}
		}
	}
	var err error
	if w.settings, err = f.load(t); err != nil {
		return nil, err
	}
	if w.target, err = newTarget(w.settings); err != nil {
		return nil, err
	}
	if err = w.makePlan(args); err == nil {
		w.warnOfProperties(t)
		err = w.checkCores()
	}
	if err == nil && w.hasResults() && !w.target.driverHere && !config.WaitAppCompletion.In(w.settings) {
		err = w.saveForWait()
	}
	return w, client.UsageError(err)
}

// saveForWait makes the driver save its results for a later "yarn-submit wait". It fails for a
// standalone cluster, because there only the submitting process can find the results.
func (w *runJob) saveForWait() (err error) {
	if !w.target.keepsResults {
		return errors.New("--collect and --summary: on a standalone cluster only the yarn-submit that submits an application can collect its results: leave out --detach")
	}
	detached := &command.DetachedPlan{}
	if detached.Directory, err = os.Getwd(); err != nil {
		return err
	}
	if w.flags.summary != "" {
		if detached.Summary, err = filepath.Abs(w.flags.summary); err != nil {
			return err
		}
	}
	w.plan.Detached = detached
	tags := append(slices.Clone(config.Tags.In(w.settings)), savedResultsTag)
	w.settings, err = w.settings.With(map[string]string{config.Tags.Name(): strings.Join(tags, ",")})
	return err
}

// position returns file:line:column, or only the file if the line is unknown.
func position(file string, at jobfile.Position) string {
	if at.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, at.Line, at.Column)
}

// hasResults reports whether files or task outcomes must be collected when the application has
// ended.
func (w *runJob) hasResults() bool {
	return w.flags.summary != "" || len(w.flags.collect) > 0 ||
		w.plan != nil && slices.ContainsFunc(w.plan.Steps, func(s command.Step) bool { return len(s.Collect) > 0 })
}

func (w *runJob) makePlan(args []string) error {
	directory, err := os.Getwd()
	if err != nil {
		return err
	}
	var collects []command.CollectRule
	for _, text := range w.flags.collect {
		collect, err := command.ParseCollectRule(text, directory)
		if err != nil {
			return fmt.Errorf("--collect %w", err)
		}
		collects = append(collects, collect)
	}
	if w.job != nil {
		overrides := jobfile.CommandLineOptions{Collect: collects}
		if w.flags.retries >= 0 {
			overrides.Retries = &w.flags.retries
		}
		if w.plan, err = w.job.Plan(overrides); err != nil {
			return err
		}
	} else if w.flags.stream != nil {
		if err := w.planStream(args); err != nil {
			return err
		}
	} else if err := w.planCommand(args, collects); err != nil {
		return err
	}
	w.plan.MaxFailures = config.TaskMaxFailures.In(w.settings)
	w.plan.Limits = command.Limits{Files: config.CollectMaxFiles.In(w.settings), Bytes: int64(config.CollectMaxSize.In(w.settings))}
	if name := config.AppName.In(w.settings); name != "" {
		w.plan.Name = name
	}
	if w.target.local {
		return w.prepareLocal()
	}
	return nil
}

// planCommand sets w.plan to a plan with one unnamed step. args is the command that the step runs.
func (w *runJob) planCommand(args []string, collects []command.CollectRule) error {
	settings := w.settings
	// With --collect, each task has its own directory, so that the patterns match only its files.
	ownDirectory := len(collects) > 0
	if !w.target.local || ownDirectory {
		var err error
		if args, settings, err = shipCommand(args, settings); err != nil {
			return err
		}
	}
	retries := w.flags.retries
	if retries < 0 {
		retries = config.TaskMaxFailures.In(w.settings) - 1
		if w.target.local {
			retries = w.target.url.MaxFailures - 1
		}
	}
	step := command.Step{
		Command: args, Tasks: make([]command.Task, w.flags.tasks), Retries: retries, FailFast: true,
		Collect: collects, OwnDirectory: ownDirectory,
	}
	step.SeparateTargetsByTask()
	w.plan, w.settings = &command.Plan{Steps: []command.Step{step}}, settings
	if _, _, err := w.plan.FindCollision(); err != nil {
		return fmt.Errorf("--collect: %w", err)
	}
	return nil
}

// shipCommand adds the command to the files to localize, if the command is a local file with a
// relative path. If app.name is not set, the command's file name becomes the application's name.
func shipCommand(args []string, settings *config.Config) ([]string, *config.Config, error) {
	changes := map[string]string{}
	name := filepath.Base(args[0])
	if config.AppName.In(settings) == "" {
		changes[config.AppName.Name()] = name
	}
	info, err := os.Stat(args[0])
	if strings.ContainsRune(args[0], '/') && !filepath.IsAbs(args[0]) && err == nil && info.Mode().IsRegular() {
		files := config.Files.In(settings)
		if !slices.Contains(files, args[0]) {
			files = append(slices.Clone(files), args[0])
		}
		changes[config.Files.Name()] = strings.Join(files, ",")
		args = append([]string{"./" + name}, args[1:]...)
	}
	changed, err := settings.With(changes)
	return args, changed, err
}

// prepareLocal prepares the plan for a run on this machine: each task directory gets symbolic links
// to the files that a cluster would localize.
func (w *runJob) prepareLocal() error {
	w.plan.Links.Local = true
	if !slices.ContainsFunc(w.plan.Steps, func(s command.Step) bool { return s.OwnDirectory }) {
		return nil
	}
	for _, file := range config.Files.In(w.settings) {
		path, name, renamed := strings.Cut(file, "#")
		if strings.Contains(path, "://") {
			return fmt.Errorf("the file %s is in the cluster: a local master ships nothing, so name one of this machine", path)
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		if !renamed {
			name = filepath.Base(path)
		}
		w.plan.Links.List = append(w.plan.Links.List, process.Link{Name: name, Path: absolute})
	}
	var err error
	w.settings, err = w.settings.Without(config.Files.Name()) // the links replace the localized files
	return err
}

// checkCores fails if a task needs more cores than an executor has.
func (w *runJob) checkCores() error {
	if w.target.local {
		return nil
	}
	cores := config.ExecutorCores.In(w.settings)
	for _, step := range w.plan.Steps {
		if step.CPUs > cores {
			return fmt.Errorf("step %s: each task takes %d cores, and executors have %d (from %s): raise executor.cores",
				step.Name, step.CPUs, cores, w.settings.Source(config.ExecutorCores.Name()))
		}
	}
	return nil
}

// execute submits the job, waits for its end and collects its results.
func (w *runJob) execute(ctx context.Context, t terminal) error {
	program, err := executablePath()
	if err != nil {
		return err
	}
	var collector *resultCollector
	if w.hasResults() {
		if collector, err = w.newCollector(t); err != nil {
			return err
		}
		defer collector.close()
		t.waitForChild = true
	}
	args, remove, err := w.runArgs()
	if err != nil {
		return client.UsageError(err)
	}
	defer remove()
	report, err := programRun{
		program: program, own: true, args: args, settings: w.settings, target: w.target, json: *w.flags.json, logs: w.flags.logs, verbose: w.flags.verbose, report: w.flags.report,
	}.run(ctx, t)
	err = withCommandStatus(report, err)
	switch {
	case collector == nil:
		return err
	case w.plan.Detached != nil:
		if err == nil {
			t.console.Print("yarn-submit wait %s collects the files of its tasks", report.ApplicationID)
		}
		return err
	}
	return collector.run(ctx, report, err)
}

// runArgs returns the arguments with which yarn-submit runs the plan as the driver. The plan of a
// job file or of a streaming job may be long and contain secrets, so runArgs passes it in a file.
// The caller must call remove, which removes that file.
func (w *runJob) runArgs() (args []string, remove func(), err error) {
	if w.job == nil && w.flags.stream == nil {
		encoded, err := json.Marshal(w.plan)
		return []string{hiddenRun, "--plan", string(encoded)}, func() {}, err
	}
	directory, err := os.MkdirTemp("", "yarn-submit-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(directory) }
	path := filepath.Join(directory, process.PlanFile)
	if err := w.plan.Write(path); err != nil {
		remove()
		return nil, nil, err
	}
	if w.target.driverHere {
		return []string{hiddenRun, "--plan-file", path, "--remove"}, remove, nil
	}
	files := append(slices.Clone(config.Files.In(w.settings)), path)
	settings, err := w.settings.With(map[string]string{config.Files.Name(): strings.Join(files, ",")})
	if err != nil {
		remove()
		return nil, nil, err
	}
	w.settings = settings
	return []string{hiddenRun, "--plan-file", process.PlanFile}, remove, nil
}

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
	"github.com/bobbin-yarn/bobbin/jobfile"
)

// work is what one yarn-submit run is to do.
type work struct {
	flags    *runFlags
	job      *jobfile.Job // nil for a command
	plan     *command.Plan
	settings *config.Config
	target   target
}

// work reads the job file or takes the command, with the settings for it.
func (f *runFlags) work(t terminal, args []string) (*work, error) {
	w := &work{flags: f}
	if f.jobFile != "" {
		job, err := jobfile.Read(f.jobFile, os.LookupEnv)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("the job file %s does not exist", f.jobFile)
		}
		if err != nil {
			return nil, client.Usage(err)
		}
		w.job = job
		made, err := job.Settings()
		if err != nil {
			return nil, client.Usage(err)
		}
		f.settingsFlags.job = map[string]config.Placed{}
		for _, one := range made {
			f.settingsFlags.job[one.Key] = config.Placed{Value: one.Value, Place: place(f.jobFile, one.At)}
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
		err = w.checkCores()
	}
	if err == nil && w.finishes() && !w.target.driverHere && !config.WaitForEnd.In(w.settings) {
		err = w.leaveToWait()
	}
	return w, client.Usage(err)
}

// leaveToWait has the application keep what yarn-submit wait must know to bring
// back what its tasks leave.
func (w *work) leaveToWait() (err error) {
	if !w.target.keepsResults {
		return errors.New("--collect and --summary: on a standalone cluster both come at the application's end, and only to who follows it: leave out --detach")
	}
	detached := &command.Detached{}
	if detached.Directory, err = os.Getwd(); err != nil {
		return err
	}
	if w.flags.summary != "" {
		if detached.Summary, err = filepath.Abs(w.flags.summary); err != nil {
			return err
		}
	}
	w.plan.Detached = detached
	tags := append(slices.Clone(config.Tags.In(w.settings)), keptTag)
	w.settings, err = w.settings.With(map[string]string{config.Tags.Name(): strings.Join(tags, ",")})
	return err
}

// place tells where in a job file a setting stands.
func place(file string, at jobfile.Position) string {
	if at.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, at.Line, at.Column)
}

// finishes tells whether something is left to do when the application has ended.
func (w *work) finishes() bool {
	return w.flags.summary != "" || len(w.flags.collect) > 0 ||
		w.plan != nil && slices.ContainsFunc(w.plan.Steps, func(s command.Step) bool { return len(s.Collect) > 0 })
}

func (w *work) makePlan(args []string) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	var collects []command.Collect
	for _, text := range w.flags.collect {
		collect, err := command.ParseCollect(text, here)
		if err != nil {
			return fmt.Errorf("--collect %w", err)
		}
		collects = append(collects, collect)
	}
	if w.job != nil {
		over := jobfile.Overrides{Collect: collects}
		if w.flags.retries >= 0 {
			over.Retries = &w.flags.retries
		}
		if w.plan, err = w.job.Plan(over); err != nil {
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
		return w.stayHere()
	}
	return nil
}

// planCommand is the plan of a command: one step without a name.
func (w *work) planCommand(args []string, collects []command.Collect) error {
	settings := w.settings
	own := len(collects) > 0
	if !w.target.local || own {
		var err error
		if args, settings, err = shipped(args, settings); err != nil {
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
		Collect: collects, OwnDirectory: own,
	}
	step.ByTask()
	w.plan, w.settings = &command.Plan{Steps: []command.Step{step}}, settings
	if _, _, err := w.plan.Collision(); err != nil {
		return fmt.Errorf("--collect: %w", err)
	}
	return nil
}

// shipped adds the command to the files that go with the application, where it
// is a file of this machine, and names the application after it.
func shipped(args []string, settings *config.Config) ([]string, *config.Config, error) {
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

// stayHere has the tasks of a plan run on this machine. Where they have
// directories of their own, these have links to what a cluster would be shipped.
func (w *work) stayHere() error {
	w.plan.Local = true
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
		w.plan.Links = append(w.plan.Links, command.Link{Name: name, Path: absolute})
	}
	var err error
	w.settings, err = w.settings.Without(config.Files.Name()) // it has had its effect
	return err
}

// checkCores finds tasks that no executor has the cores for.
func (w *work) checkCores() error {
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

// do submits the work, follows it and brings back what is to come back.
func (w *work) do(ctx context.Context, t terminal) error {
	program, err := self()
	if err != nil {
		return err
	}
	var finish *finisher
	if w.finishes() {
		if finish, err = w.newFinisher(t); err != nil {
			return err
		}
		defer finish.close()
		t.stays = true
	}
	args, remove, err := w.hiddenArgs()
	if err != nil {
		return client.Usage(err)
	}
	defer remove()
	report, err := submission{
		program: program, own: true, args: args, settings: w.settings, target: w.target, json: *w.flags.json, logs: w.flags.logs, verbose: w.flags.verbose,
	}.run(ctx, t)
	err = carry(report, err)
	switch {
	case finish == nil:
		return err
	case w.plan.Detached != nil:
		if err == nil {
			t.console.Print("yarn-submit wait %s brings back what its tasks leave", report.ApplicationID)
		}
		return err
	}
	return finish.run(ctx, report, err)
}

// hiddenArgs are the arguments with which this program runs the plan. A plan of
// a job file travels as a file: it may be long, and have secrets. remove removes
// that file, once it is where it is needed.
func (w *work) hiddenArgs() (args []string, remove func(), err error) {
	if w.job == nil {
		encoded, err := json.Marshal(w.plan)
		return []string{hiddenRun, "--plan", string(encoded)}, func() {}, err
	}
	directory, err := os.MkdirTemp("", "yarn-submit-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(directory) }
	path := filepath.Join(directory, command.PlanFile)
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
	return []string{hiddenRun, "--plan-file", command.PlanFile}, remove, nil
}

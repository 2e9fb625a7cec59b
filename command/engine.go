package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/role"
)

// engine runs the steps of a plan. Each running step has its own goroutine, which sends a stepEnd
// to the channel ended. Only the goroutine of run changes the states of steps.
type engine struct {
	plan    *Plan
	session *bobbin.Session
	results *recorder // nil if no results must be written
	events  *events.Recorder
	output  io.Writer // receives the end of the output of each command
	logger  *slog.Logger
	ended   chan stepEnd
}

type stepEnd struct {
	step int
	err  error // nil if the step succeeded
}

// stepState is the state of a step.
type stepState int

const (
	stepWaiting stepState = iota
	stepRunning
	stepPassed  // succeeded, or failed and has AllowFailure
	stepBlocked // failed, or not started because a step that it needs is blocked
)

// drive runs the plan. Its error lists the failed steps in the order in which they failed.
func (p *Plan) drive(ctx context.Context) (err error) {
	if err := p.check(); err != nil {
		return err
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	app := role.FromContext(ctx)
	e := &engine{
		plan: p, session: session, events: app.Driver.Events(), output: app.Output, logger: app.Logger, ended: make(chan stepEnd, len(p.Steps)),
	}
	if p.Results != "" {
		own := ResultsDirectory(p.Results, session.ApplicationID())
		if e.results, err = newRecorder(ctx, session.Files(), own); err != nil {
			return err
		}
		defer func() { err = firstError(err, e.results.close(ctx)) }()
		if p.Detached != nil {
			if err := p.save(ctx, session.Files(), own); err != nil {
				return err
			}
		}
	}
	if p.Timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, p.Timeout, fmt.Errorf("command: the job %w", &timeLimitError{p.Timeout}))
		defer cancel()
		ctx = limited
	}
	return e.run(ctx)
}

// run starts each step as soon as all steps that it needs have passed. It returns when no step is
// running and no step can start.
func (e *engine) run(ctx context.Context) error {
	steps := e.plan.Steps
	states := make([]stepState, len(steps))
	failures := map[int]error{}
	order := []int{} // indexes of the failed steps, in the order in which they failed
	var group sync.WaitGroup
	defer group.Wait()
	e.recordPlan()
	for active := 0; ; {
		for i := range steps {
			if states[i] != stepWaiting {
				continue
			}
			switch need, state := e.needs(i, states); {
			case ctx.Err() != nil:
				states[i] = stepBlocked // only steps that were running report the cause of ctx
			case state == stepPassed:
				states[i] = stepRunning
				active++
				e.events.Record(&events.StepStarted{Time: events.At(time.Now()), Step: steps[i].Name})
				group.Go(func() { e.ended <- stepEnd{i, e.step(ctx, i)} })
			case state == stepBlocked:
				states[i] = stepBlocked
				e.logger.Warn("step skipped", "step", steps[i].Name, "needs", need)
				e.recordEnd(steps[i], events.StateSkipped, "it needs step "+need+", which has failed")
				e.results.skip(i, need)
			}
		}
		if active == 0 {
			break
		}
		end := <-e.ended
		active--
		switch step := steps[end.step]; {
		case end.err == nil:
			states[end.step] = stepPassed
			e.logger.Info("step succeeded", "step", step.Name)
			e.recordEnd(step, events.StateSucceeded, "")
		case step.AllowFailure && ctx.Err() == nil:
			states[end.step] = stepPassed
			e.logger.Warn("step failed, which the job allows", "step", step.Name, "error", end.err)
			e.recordEnd(step, events.StateFailed, end.err.Error())
		default:
			states[end.step] = stepBlocked
			failures[end.step] = end.err
			order = append(order, end.step)
			e.logger.Error("step failed", "step", step.Name, "error", end.err)
			e.recordEnd(step, events.StateFailed, end.err.Error())
		}
	}
	if len(order) == 0 {
		return nil
	}
	if cause := stopped(ctx); cause != nil {
		return cause
	}
	if len(order) == 1 {
		return failures[order[0]]
	}
	texts := make([]string, len(order))
	for i, number := range order {
		texts[i] = failures[number].Error()
	}
	return &commandError{strings.Join(texts, "\n")}
}

func (e *engine) recordPlan() {
	planned := &events.StepsPlanned{Time: events.At(time.Now())}
	for _, step := range e.plan.Steps {
		planned.Steps = append(planned.Steps, events.StepPlan{Name: step.Name, Needs: step.Needs, Tasks: len(step.Tasks)})
	}
	e.events.Record(planned)
}

func (e *engine) recordEnd(step Step, state, err string) {
	e.events.Record(&events.StepEnded{Time: events.At(time.Now()), Step: step.Name, State: state, Error: err})
}

// needs returns stepPassed if all steps that the step needs have passed, so that the step may
// start. If a needed step is blocked, needs returns stepBlocked and the name of the needed step. If
// a needed step has not ended, needs returns stepWaiting.
func (e *engine) needs(step int, states []stepState) (because string, state stepState) {
	state = stepPassed
	for _, need := range e.plan.Steps[step].Needs {
		number := slices.IndexFunc(e.plan.Steps, func(s Step) bool { return s.Name == need })
		switch states[number] {
		case stepBlocked:
			return need, stepBlocked
		case stepWaiting, stepRunning:
			state = stepWaiting
		}
	}
	return "", state
}

// step runs one step until it has ended, and returns its error.
func (e *engine) step(ctx context.Context, number int) error {
	step := e.plan.Steps[number]
	if step.Timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, step.Timeout,
			fmt.Errorf("%sstep %s %w", errorMark, step.Name, &timeLimitError{step.Timeout}))
		defer cancel()
		ctx = limited
	}
	e.results.start(number)
	if step.Stream != nil {
		return e.stream(ctx, number)
	}
	shared := sharedInput{Step: step, Tasks: len(step.Tasks), Links: e.plan.Links, Number: number, Limits: e.plan.Limits}
	shared.Step.Tasks = nil
	if e.results != nil {
		shared.Results = e.results.directory
	}
	options := []bobbin.Option{
		bobbin.Name(cmp.Or(step.Name, step.Command[0])), bobbin.Shared(shared),
		// The driver counts failed commands and lost executors of a task together. Retries of
		// failed commands must not use up the attempts for lost executors. When a command fails in
		// its last attempt, the task returns an outcome and no error, so only lost executors can
		// fail the job.
		bobbin.MaxFailures(step.Retries + max(1, e.plan.MaxFailures)),
	}
	if step.CPUs > 0 {
		options = append(options, bobbin.CPUs(step.CPUs))
	}
	began := time.Now()
	e.logger.Info("step started", "step", step.Name, "tasks", len(step.Tasks))
	var failures []*Outcome
	for finished, err := range run.Stream(ctx, e.session, step.Tasks, options...) {
		if err != nil {
			// if the step was stopped, the cause explains more than the error of one task
			err = firstError(stopped(ctx), failure(err))
			e.results.end(number, err.Error())
			return err
		}
		outcome := finished.Value
		e.printOutcome(step.Name, &outcome)
		e.results.add(number, outcome)
		if outcome.Status == StatusSucceeded {
			continue
		}
		outcome.Files = nil
		failures = append(failures, &outcome)
		if len(failures) > maxKeptFailures {
			failures[len(failures)-1].Tail = ""
		}
		if step.FailFast {
			break
		}
	}
	e.logger.Info("step ended", "step", step.Name, "failed tasks", len(failures), "after", time.Since(began).Round(time.Millisecond))
	err := stepError(step, failures)
	e.results.end(number, textOf(err))
	return err
}

// maxKeptFailures is the maximum number of failed tasks of a step that the step's error contains.
// The driver stores the output of at most this number of failed tasks.
const maxKeptFailures = 10

// stepError returns the error of a step with failed tasks: the error and output of the first task,
// and one line for each further failed task. It contains at most maxKeptFailures tasks.
func stepError(step Step, failures []*Outcome) error {
	if len(failures) == 0 {
		return nil
	}
	slices.SortFunc(failures, func(a, b *Outcome) int { return cmp.Compare(a.Index, b.Index) })
	lines := []string{failures[0].Error(step.Name).Error()}
	for _, other := range failures[1:min(len(failures), maxKeptFailures)] {
		line, _, _ := strings.Cut(other.Error(step.Name).Error(), "\n")
		lines = append(lines, line)
	}
	if more := len(failures) - maxKeptFailures; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more tasks of the step failed", more))
	}
	return &commandError{strings.Join(lines, "\n")}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// printOutcome logs the end of a task, and prints the last part of its output. If the step has no
// name, which is possible only for the only step of a plan, printOutcome prints the output
// unchanged. Otherwise it prefixes each line with the step's name and the task's index.
func (e *engine) printOutcome(step string, outcome *Outcome) {
	e.logger.Info("task finished", "step", step, "task", outcome.Index, "status", outcome.Status, "try", outcome.Attempt,
		"output", outcome.Output)
	text := outcome.Tail
	if step == "" && outcome.Status != StatusSucceeded {
		return // the application's error contains the output
	}
	if step != "" {
		mark := fmt.Sprintf("[%s %d] ", step, outcome.Index)
		var marked strings.Builder
		for line := range strings.Lines(text) {
			marked.WriteString(mark + line)
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			marked.WriteByte('\n')
		}
		text = marked.String()
	}
	if _, err := io.WriteString(e.output, text); err != nil && !errors.Is(err, os.ErrClosed) {
		e.logger.Warn("cannot write the output of a task", "error", err)
	}
}

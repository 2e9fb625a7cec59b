package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/streaming"
)

// stream runs the streaming job of the step with this number, and returns the step's error. It
// records one outcome for the whole job.
func (e *engine) stream(ctx context.Context, number int) error {
	step := e.plan.Steps[number]
	outcome := Outcome{Status: StatusSucceeded, Attempt: 1, Started: time.Now()}
	e.logger.Info("step started", "step", step.Name, "output", step.Stream.Output)
	job := *step.Stream
	job.Environment = step.Environment
	counters, err := streaming.Run(ctx, e.session, job, streaming.StepInfo{Name: step.Name, Links: e.plan.Links})
	outcome.Duration = time.Since(outcome.Started)
	if err != nil {
		err = firstError(stopped(ctx), failure(err))
		outcome.Status, outcome.Exit = StatusFailed, -1
		if exit, found := ExitStatus(err.Error()); found {
			outcome.Exit = exit
		}
		outcome.Message, outcome.Tail, _ = strings.Cut(err.Error(), "\n")
	}
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		outcome.Tail += fmt.Sprintf("counter %s %d\n", name, counters[name])
	}
	e.printOutcome(step.Name, &outcome)
	e.results.add(number, outcome)
	e.results.end(number, textOf(err))
	return err
}

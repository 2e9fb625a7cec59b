package client

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Wait follows a driver or an application to its end: the error of one that did
// not succeed is a *Failure. When ctx ends before, it is killed.
func (s *Standalone) Wait(ctx context.Context, id string, o WaitOptions) (*Report, error) {
	following, cancel := within(ctx, o.Timeout)
	defer cancel()
	report, err := s.toEnd(following, id, o)
	if err == nil {
		return s.conclude(ctx, report, o.Console)
	}
	if following.Err() == nil {
		return nil, err
	}
	cause := context.Cause(following)
	if o.Leave != nil && o.Leave(cause) {
		return nil, withCode(ExitFailed, fmt.Errorf("%w; %s goes on", cause, id))
	}
	o.Console.Print("%v: killing %s; once more to leave at once", cause, id)
	killing, cancelKill := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancelKill()
	if report, err = s.Kill(killing, id); err != nil {
		return nil, refused(fmt.Errorf("%s may still be running, stop it with yarn-submit kill %[1]s: %w", id, err))
	}
	report.Message = cause.Error()
	return s.conclude(killing, report, o.Console)
}

// toEnd asks until it has ended, and says so where its state changes.
func (s *Standalone) toEnd(ctx context.Context, id string, o WaitOptions) (*Report, error) {
	defer o.Console.setLive("")
	last := time.Second
	if o.Interval > 0 {
		last = o.Interval
	}
	told, began := "", time.Now()
	for pause := firstInterval; ; pause = min(pause*3/2, last) {
		report, ended, err := s.report(ctx, id)
		if err != nil || ended {
			return report, err
		}
		if report.State != told {
			o.Console.Print("%s %s", id, report.State)
			told = report.State
		}
		o.Console.setLive(fmt.Sprintf("%s %s %s", id, report.State, seconds(time.Since(began))))
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// conclude prints how it ended, and gives the error of one that did not succeed.
func (s *Standalone) conclude(ctx context.Context, report *Report, console *Console) (*Report, error) {
	if report.Times.Finished.IsZero() {
		report.Times.Finished = time.Now().Truncate(time.Millisecond)
	}
	if report.FinalStatus == finalSucceeded {
		report.show(console)
		return report, nil
	}
	failure := &Failure{Report: report, killed: report.State == stateKilled}
	if failure.killed {
		report.Message = strings.TrimSuffix("killed: "+report.Message, ": ")
	} else {
		s.hearOut(ctx, report)
	}
	report.show(console)
	return report, withCode(ExitFailed, failure)
}

// hearOut has a driver that failed say why itself, where its stderr can be read.
func (s *Standalone) hearOut(ctx context.Context, report *Report) {
	if !strings.HasPrefix(report.ApplicationID, driverPrefix) {
		return
	}
	if said := s.lastWords(ctx, report.TrackingURL); said != "" {
		report.Message, report.Diagnostics = strings.TrimPrefix(said, report.Name+": "), said
	}
}

package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
)

// Wait follows a driver or an application to its end: the error of one that did
// not succeed is a *client.Failure. When ctx ends before, it is killed.
func (s *Cluster) Wait(ctx context.Context, id string, o client.WaitOptions) (*client.Report, error) {
	following, cancel := client.WithTimeout(ctx, o.Timeout)
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
		return nil, client.Failed(fmt.Errorf("%w; %s goes on", cause, id))
	}
	o.Console.Print("%v: killing %s; once more to leave at once", cause, id)
	killing, cancelKill := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancelKill()
	if report, err = s.Kill(killing, id); err != nil {
		return nil, client.Refused(fmt.Errorf("%s may still be running, stop it with yarn-submit kill %[1]s: %w", id, err))
	}
	report.Message = cause.Error()
	return s.conclude(killing, report, o.Console)
}

// toEnd asks until it has ended, and says so where its state changes.
func (s *Cluster) toEnd(ctx context.Context, id string, o client.WaitOptions) (*client.Report, error) {
	defer o.Console.SetLive("")
	told, began := "", time.Now()
	for pause := firstInterval; ; pause = min(pause*3/2, time.Second) {
		report, ended, err := s.report(ctx, id)
		if err != nil || ended {
			return report, err
		}
		if report.State != told {
			o.Console.Print("%s %s", id, report.State)
			told = report.State
		}
		o.Console.SetLive(fmt.Sprintf("%s %s %s", id, report.State, client.Seconds(time.Since(began))))
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// conclude prints how it ended, and gives the error of one that did not succeed.
func (s *Cluster) conclude(ctx context.Context, report *client.Report, console *client.Console) (*client.Report, error) {
	if report.Times.Finished.IsZero() {
		report.Times.Finished = time.Now().Truncate(time.Millisecond)
	}
	if report.FinalStatus == finalSucceeded {
		report.Print(console)
		return report, nil
	}
	failure := &client.Failure{Report: report}
	if report.State == finalKilled {
		report.Message = strings.TrimSuffix("killed: "+report.Message, ": ")
	} else {
		s.hearOut(ctx, report)
	}
	report.Print(console)
	return report, client.Failed(failure)
}

// hearOut has a driver that failed say why itself, where its stderr can be read.
func (s *Cluster) hearOut(ctx context.Context, report *client.Report) {
	if !strings.HasPrefix(report.ApplicationID, driverPrefix) {
		return
	}
	if said := s.lastWords(ctx, report.TrackingURL); said != "" {
		report.Message, report.Diagnostics = strings.TrimPrefix(said, report.Name+": "), said
	}
}

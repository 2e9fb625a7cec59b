package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/logs"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// lastLinesTimeout limits the wait for the last log lines after an application has ended.
const lastLinesTimeout = 30 * time.Second

// logPrinter prints the log lines of one application while it runs.
type logPrinter struct {
	cluster  clusterClient
	terminal terminal
	group    sync.WaitGroup
	stop     context.CancelCauseFunc // nil until the application is submitted
}

// errApplicationEnded is the cause with which the method end cancels FollowLogs, if FollowLogs still
// runs when lastLinesTimeout has passed since the end of the application.
var errApplicationEnded = errors.New("the application is over")

// checkLogs fails if --logs is combined with flags or settings that exclude it.
func (s programRun) checkLogs() error {
	switch {
	case !s.logs:
		return nil
	case s.json:
		return client.UsageError(errors.New("--logs and --json both want stdout: take one of them"))
	case !config.WaitAppCompletion.In(s.settings):
		return client.UsageError(errors.New("--logs needs an application that is followed: leave out --detach, or use yarn-submit logs --follow"))
	case s.target.onOneMachine:
		return client.UsageError(errors.New("--logs: the driver of a local cluster writes here, and its executors to files in worker.dir"))
	case s.target.driverHere:
		return client.UsageError(errors.New("--logs is for cluster mode: in client mode the driver writes here, and yarn-submit logs --follow shows what executors write"))
	}
	return nil
}

// followLogs makes job print the log lines of the containers after the submission, if --logs is
// set. The caller must call end when the application has ended.
func (s programRun) followLogs(ctx context.Context, t terminal, cluster clusterClient, job *client.Job) (end func()) {
	if !s.logs {
		return func() {}
	}
	printed := &logPrinter{cluster: cluster, terminal: t}
	submitted := job.Submitted
	job.Submitted = func(id string) {
		submitted(id)
		printed.begin(ctx, id)
	}
	return printed.end
}

// begin prints an application's log lines in the background. When ctx ends, the application is
// killed, but printing continues, so that the user sees the application's last lines.
func (s *logPrinter) begin(ctx context.Context, id string) {
	ctx, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	s.group.Go(func() {
		err := s.cluster.FollowLogs(ctx, id, logs.Selection{}, s.terminal.console, s.writer().write)
		if err != nil && !errors.Is(err, errApplicationEnded) {
			s.terminal.console.Warn("the logs of %s are not printed any more: %v", id, err)
		}
	})
}

// writer returns a writer to stdout. If stdout and the console are the same terminal, the writer
// writes through the console, so that the lines do not garble the live line.
func (s *logPrinter) writer() *lineWriter {
	writer := newLineWriter(s.terminal.stdout)
	if s.terminal.sameScreen {
		writer.w = s.terminal.console
	}
	return writer
}

// end waits until all log lines are printed, but at most lastLinesTimeout.
func (s *logPrinter) end() {
	if s.stop == nil {
		return // nothing was submitted
	}
	timer := time.AfterFunc(lastLinesTimeout, func() { s.stop(errApplicationEnded) })
	s.group.Wait()
	timer.Stop()
	s.stop(nil)
}

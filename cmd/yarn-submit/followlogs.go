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

// lastLinesTimeout bounds the wait for the last log lines after an application's end.
const lastLinesTimeout = 30 * time.Second

// logPrinter prints the log lines of one application while it runs.
type logPrinter struct {
	cluster  clusterClient
	terminal terminal
	group    sync.WaitGroup
	stop     context.CancelCauseFunc // nil until an application is submitted
}

// errApplicationEnded is the cause with which the method end cancels FollowLogs, if that has
// not returned within lastLinesTimeout.
var errApplicationEnded = errors.New("the application is over")

// checkLogs fails if --logs cannot be combined with the other flags.
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

// followLogs makes job print the containers' log lines after the submission, if --logs
// is given. The caller must call end when the application has ended.
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

// begin prints an application's log lines in the background. It continues after ctx has
// ended, because the application is then killed, and the user wants to see its last lines.
func (s *logPrinter) begin(ctx context.Context, id string) {
	ctx, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	s.group.Go(func() {
		err := s.cluster.FollowLogs(ctx, id, logs.Selection{}, s.terminal.console, s.writer().write)
		if err != nil && !errors.Is(err, errApplicationEnded) {
			s.terminal.console.Warn("the logs of %s are not printed any more: %v", id, err)
		}
	})
}

// writer returns a writer to stdout. It writes through the console if stdout and the
// console are the same terminal.
func (s *logPrinter) writer() *lineWriter {
	writer := newLineWriter(s.terminal.stdout)
	if s.terminal.sameScreen {
		writer.w = s.terminal.console
	}
	return writer
}

// end waits at most lastLinesTimeout for the last lines.
func (s *logPrinter) end() {
	if s.stop == nil {
		return // nothing was submitted
	}
	timer := time.AfterFunc(lastLinesTimeout, func() { s.stop(errApplicationEnded) })
	s.group.Wait()
	timer.Stop()
	s.stop(nil)
}

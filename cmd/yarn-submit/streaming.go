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

// lastLines is how long containers' last lines are waited for when their
// application is over.
const lastLines = 30 * time.Second

// streaming prints what an application's containers write while it is followed.
type streaming struct {
	cluster clusterClient
	t       terminal
	group   sync.WaitGroup
	stop    context.CancelCauseFunc
}

// errOver ends the streaming of an application that is over.
var errOver = errors.New("the application is over")

// checkStreaming reports why the submission's logs cannot be printed.
func (s submission) checkStreaming() error {
	switch {
	case !s.logs:
		return nil
	case s.json:
		return client.Usage(errors.New("--logs and --json both want stdout: take one of them"))
	case !config.WaitForEnd.In(s.settings):
		return client.Usage(errors.New("--logs is for who follows the application: leave out --detach, or use yarn-submit logs --follow"))
	case s.target.oneMachine:
		return client.Usage(errors.New("--logs: the driver of a local cluster writes here, and its executors to files in worker.dir"))
	case s.target.driverHere:
		return client.Usage(errors.New("--logs is for cluster mode: in client mode the driver writes here, and yarn-submit logs --follow shows what executors write"))
	}
	return nil
}

// stream has the submission's logs printed from when it has an id on, where they
// are wanted; end is to be called when it is over.
func (s submission) stream(ctx context.Context, t terminal, cluster clusterClient, job *client.Job) (end func()) {
	if !s.logs {
		return func() {}
	}
	printed := &streaming{cluster: cluster, t: t}
	tell := job.Submitted
	job.Submitted = func(id string) {
		tell(id)
		printed.begin(ctx, id)
	}
	return printed.end
}

// begin prints the lines of an application from now on. A signal that ends ctx
// ends the application, whose last words are of interest.
func (s *streaming) begin(ctx context.Context, id string) {
	ctx, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	s.group.Go(func() {
		err := s.cluster.FollowLogs(ctx, id, logs.Selection{}, s.t.console, s.writer().write)
		if err != nil && !errors.Is(err, errOver) {
			s.t.console.Warn("the logs of %s are not printed any more: %v", id, err)
		}
	})
}

// writer puts lines between the console's where both are on one terminal.
func (s *streaming) writer() *lineWriter {
	writer := newLineWriter(s.t.stdout)
	if s.t.sameScreen {
		writer.w = s.t.console
	}
	return writer
}

// end waits for the last lines.
func (s *streaming) end() {
	if s.stop == nil {
		return // nothing was submitted
	}
	timer := time.AfterFunc(lastLines, func() { s.stop(errOver) })
	s.group.Wait()
	timer.Stop()
	s.stop(nil)
}

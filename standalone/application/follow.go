package application

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// followMasters serves the stream to the leading master, until the application has ended or
// the context alive ends. If the stream breaks, followMasters registers the application again.
// It retries without a time limit, because executors continue to run without a master.
func (a *Application) followMasters(alive context.Context, current *masterStream) {
	for {
		over, err := a.serve(current)
		if over {
			a.setEnded(err)
			return
		}
		if alive.Err() != nil {
			return
		}
		a.logger.Warn("lost the master; looking for it or another, executors keep running", "master", current.master, "error", err)
		if !sleep(alive, firstPause) { // avoids a busy loop if a master accepts the stream and closes it
			return
		}
		lost := current.master
		if current, err = a.register(alive, alive, false); err != nil {
			if alive.Err() != nil {
				return
			}
			a.setEnded(a.unlessFinished(fmt.Errorf("%w: %w", ErrEnded, err)))
			return
		}
		a.logger.Info("registered again", "master", current.master, "before", lost)
	}
}

// unlessFinished returns err, or nil after Finish, because a master may have removed the
// application by then.
func (a *Application) unlessFinished(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.finish != nil {
		return nil
	}
	return err
}

// serve sends changes to a master and processes its messages (orders) until the stream ends.
// over reports whether the application has ended. err is why the stream or the application
// ended.
func (a *Application) serve(current *masterStream) (over bool, err error) {
	defer current.cancel()
	a.mu.Lock()
	a.state.beginStream()
	a.mu.Unlock()
	unreadable := make(chan error, 1)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer current.cancel()
	sending.Go(func() {
		if err := a.send(current); err != nil {
			unreadable <- err
			current.cancel()
		}
	})
	var ended *protocol.ApplicationEnd
	for order := current.first; ; {
		if end := a.receive(order); end != nil {
			ended = end
		}
		if order, err = current.stream.Recv(); err != nil {
			break
		}
	}
	select {
	case err := <-unreadable:
		return true, err
	default:
	}
	if ended != nil {
		return true, a.unlessFinished(fmt.Errorf("%w: %s", ErrEnded, ended.GetReason()))
	}
	if protocol.IsFinal(err) { // another stream would fail with the same error
		return true, a.unlessFinished(fmt.Errorf("%w: %w", ErrEnded, protocol.Refusal{Master: current.master, Err: err}.Explain()))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.finishSent && errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// send uploads the files that the master does not have, then sends the application's whole state
// once, and then each change. If a local file cannot be read, send returns an error, because no
// other master could get the file either. But if a master has received all files before, send only
// logs that error and goes on.
func (a *Application) send(current *masterStream) error {
	err := a.options.Files.Upload(current.ctx, current.files)
	var unreadable *UnreadableError
	switch {
	case err == nil:
		a.uploaded = true
	case errors.As(err, &unreadable) && !a.uploaded:
		return err
	case errors.As(err, &unreadable):
		a.logger.Warn("this master lacks files, and executors can start only on workers that have them",
			"master", current.master, "error", err)
	default:
		if current.ctx.Err() == nil {
			a.logger.Warn("cannot upload files to the master", "master", current.master, "error", err)
			current.cancel()
		}
		return nil
	}
	a.update(func(s *state) { s.sendAll() })
	for {
		select {
		case <-a.wake:
		case <-current.ctx.Done():
			return nil
		}
		a.mu.Lock()
		message := a.state.takeUnsent()
		a.mu.Unlock()
		if message == nil {
			continue
		}
		if err := current.stream.Send(message); err != nil {
			return nil // Recv returns the error
		}
	}
}

// receive processes a message of the master. It returns the application's end if the message
// contains it, otherwise nil.
func (a *Application) receive(order *protocol.ApplicationOrder) *protocol.ApplicationEnd {
	a.mu.Lock()
	n := a.state.receive(order)
	a.mu.Unlock()
	a.signal()
	// Release mu before calling the driver, because the driver's event loop may be waiting for
	// mu.
	for _, executor := range n.launched {
		a.logger.Info("executor launched", "executor", executor.GetId(), "host", executor.GetHost(), "cores", executor.GetCores(),
			"worker", executor.GetWorkerId())
	}
	for _, end := range n.ends {
		a.options.Driver.ExecutorLost(executorID(end.GetId()), driver.Loss{Reason: describeEnd(end), CountsAsFailure: end.GetCountsAsFailure()})
	}
	for _, id := range n.missing {
		a.options.Driver.ExecutorLost(executorID(id), driver.Loss{Reason: "the master does not know it any more"})
	}
	for _, notice := range n.notices {
		ids := make([]string, len(notice.GetExecutors()))
		for i, id := range notice.GetExecutors() {
			ids[i] = executorID(id)
		}
		decommission := driver.DecommissionNotice{Reason: notice.GetReason(), NodeLeaves: true}
		if deadline := notice.GetDeadline(); deadline != 0 {
			decommission.Deadline = time.Unix(0, deadline)
		}
		a.options.Driver.Decommission(ids, decommission)
	}
	if n.waitReason != nil {
		changed := &events.NotesChanged{Time: events.At(time.Now()), Source: "master"}
		if *n.waitReason == "" {
			a.logger.Info("executors can be launched again")
		} else {
			a.logger.Warn("not all executors can be launched", "reason", *n.waitReason)
			changed.Notes = []string{"not all executors can be launched: " + *n.waitReason}
		}
		a.options.Events.Record(changed)
	}
	return n.end
}

// describeEnd returns a text for users that explains why an executor ended.
func describeEnd(end *protocol.ExecutorEnd) string {
	if text := end.GetText(); text != "" {
		return text
	}
	switch end.GetState() {
	case protocol.ExecutorState_EXECUTOR_EXITED:
		if code := end.GetExitCode(); code < 0 {
			return fmt.Sprintf("was ended by signal %d", -code)
		}
		return fmt.Sprintf("ended with exit code %d", end.GetExitCode())
	case protocol.ExecutorState_EXECUTOR_FAILED:
		return "could not be started"
	case protocol.ExecutorState_EXECUTOR_KILLED:
		return "was killed by order of the master"
	}
	return "its worker is lost"
}

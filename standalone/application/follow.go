package application

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// followMasters serves over a stream to the master that leads, and over a further
// one whenever that breaks, without a limit: the executors go on meanwhile.
func (a *Application) followMasters(alive context.Context, current *link) {
	for {
		over, err := a.serve(current)
		if over {
			a.end(err)
			return
		}
		if alive.Err() != nil {
			return
		}
		a.logger.Warn("lost the master; executors go on while it, or another, is looked for", "master", current.master, "error", err)
		if !sleep(alive, firstPause) { // a master that takes it and leaves is not asked all the time
			return
		}
		lost := current.master
		if current, err = a.register(alive, alive, false); err != nil {
			if alive.Err() != nil {
				return
			}
			a.end(a.unlessFinished(fmt.Errorf("%w: %w", ErrEnded, err)))
			return
		}
		a.logger.Info("registered again", "master", current.master, "before", lost)
	}
}

// unlessFinished is nil where the application was finished from here: that the
// master does not know it then is no news.
func (a *Application) unlessFinished(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.finish != nil {
		return nil
	}
	return err
}

// serve tells a master what is new and hears what it says, until the stream
// ends. over says that the application has ended with it, err why.
func (a *Application) serve(current *link) (over bool, err error) {
	defer current.end()
	a.mu.Lock()
	a.state.beginStream()
	a.mu.Unlock()
	unreadable := make(chan error, 1)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer current.end()
	sending.Go(func() {
		if err := a.send(current); err != nil {
			unreadable <- err
			current.end()
		}
	})
	var ended *protocol.ApplicationEnd
	for order := current.first; ; {
		if end := a.hear(order); end != nil {
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
	if protocol.IsFinal(err) { // the next stream would only bring it the same
		return true, a.unlessFinished(fmt.Errorf("%w: %w", ErrEnded, protocol.Refusal{Master: current.master, Err: err}.Explain()))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state.finishSent && errors.Is(err, io.EOF), a.nilAtEnd(err)
}

// nilAtEnd is nil for the end of a stream in order, which is none of an error
// once the application was finished. The caller holds mu.
func (a *Application) nilAtEnd(err error) error {
	if a.state.finishSent && errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// send brings the master the files that it lacks, and tells it first all and
// then what is new. An error is of a file that cannot be read here, which no
// other master will change; once a master has had all, it is no reason to end
// what runs.
func (a *Application) send(current *link) error {
	err := a.options.Files.Bring(current.ctx, current.files)
	var unreadable *UnreadableError
	switch {
	case err == nil:
		a.brought = true
	case errors.As(err, &unreadable) && !a.brought:
		return err
	case errors.As(err, &unreadable):
		a.logger.Warn("this master lacks files, and executors can start only where their worker has them still",
			"master", current.master, "error", err)
	default:
		if current.ctx.Err() == nil {
			a.logger.Warn("bringing files to the master", "master", current.master, "error", err)
			current.end()
		}
		return nil
	}
	a.tell(func(s *state) { s.sendAll() })
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
			return nil // Recv tells why
		}
	}
}

// hear acts on an order, and returns the end that it says, if any.
func (a *Application) hear(order *protocol.ApplicationOrder) *protocol.ApplicationEnd {
	a.mu.Lock()
	n := a.state.receive(order)
	a.mu.Unlock()
	a.signal()
	// The driver's loop may be waiting for the state, so it is told without it.
	for _, executor := range n.launched {
		a.logger.Info("executor launched", "executor", executor.GetId(), "host", executor.GetHost(), "cores", executor.GetCores(),
			"worker", executor.GetWorkerId())
	}
	for _, end := range n.ends {
		a.options.Driver.ExecutorLost(executorID(end.GetId()), driver.Loss{Text: endText(end), CountsAsFailure: end.GetCountsAsFailure()})
	}
	for _, id := range n.missing {
		a.options.Driver.ExecutorLost(executorID(id), driver.Loss{Text: "the master does not know of it any more"})
	}
	for _, notice := range n.notices {
		ids := make([]string, len(notice.GetExecutors()))
		for i, id := range notice.GetExecutors() {
			ids[i] = executorID(id)
		}
		decommission := driver.Notice{Reason: notice.GetReason()}
		if deadline := notice.GetDeadline(); deadline != 0 {
			decommission.Deadline = time.Unix(0, deadline)
		}
		a.options.Driver.Decommission(ids, decommission)
	}
	if n.hindrance != nil {
		if *n.hindrance == "" {
			a.logger.Info("nothing keeps executors from coming any more")
		} else {
			a.logger.Warn("not all executors can be had", "reason", *n.hindrance)
		}
	}
	return n.end
}

// endText says why an executor ended.
func endText(end *protocol.ExecutorEnd) string {
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
		return "was killed by its worker, as the master said"
	}
	return "its worker is gone"
}

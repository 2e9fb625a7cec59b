package worker

import (
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// decommission is of a worker that takes nothing new, and ends when what it runs
// has ended.
type decommission struct {
	reason   string
	deadline time.Time // when what still runs is ended; zero for never
	timer    *time.Timer
}

// startDecommission begins it. Applications hear of it from the master, and let their
// executors finish what they do.
func (w *worker) startDecommission(reason string) {
	if w.decommission != nil || w.stopping != nil {
		return
	}
	w.decommission = &decommission{reason: reason}
	if wait := config.WorkerDecommissionTimeout.In(w.options.Settings); wait > 0 {
		w.decommission.deadline = time.Now().Add(wait)
		w.decommission.timer = time.NewTimer(wait)
	}
	w.logger.Info("worker is decommissioned", "reason", reason, "running", len(w.running), "waits", config.WorkerDecommissionTimeout.In(w.options.Settings))
	w.enqueue(w.decommission.message())
}

func (d *decommission) message() *protocol.WorkerMessage {
	message := &protocol.Decommissioning{Reason: d.reason}
	if !d.deadline.IsZero() {
		message.Deadline = d.deadline.UnixNano()
	}
	return &protocol.WorkerMessage{Decommissioning: message}
}

// stoppingMessage is of a worker that does not wait for what it runs.
func stoppingMessage() *protocol.WorkerMessage {
	return &protocol.WorkerMessage{Decommissioning: &protocol.Decommissioning{Reason: errStopped.Error()}}
}

// timeout tells that the deadline has passed.
func (d *decommission) timeout() <-chan time.Time {
	if d == nil || d.timer == nil {
		return nil
	}
	return d.timer.C
}

// DecommissionSignal tells once, for Options.Decommission, when this process is
// sent SIGPWR, which Spark's workers take so, until stop is called. Where the
// system has no such signal it never tells.
func DecommissionSignal() (reasons <-chan string, stop func()) {
	told := make(chan string, 1)
	if decommissionSignal == nil {
		return told, func() {}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, decommissionSignal)
	done := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		select {
		case <-signals:
			told <- "it was sent SIGPWR"
		case <-done:
		}
	})
	return told, func() {
		signal.Stop(signals)
		close(done)
		listening.Wait()
	}
}

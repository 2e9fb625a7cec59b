package worker

import (
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

type decommission struct {
	reason   string
	deadline time.Time // when the processes that still run are stopped; the zero time means never
	timer    *time.Timer
}

// startDecommission makes the worker accept no new executors or drivers, and stop when all its
// processes have ended. The master notifies the applications, whose executors finish their
// tasks.
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

func stoppingMessage() *protocol.WorkerMessage {
	return &protocol.WorkerMessage{Decommissioning: &protocol.Decommissioning{Reason: errStopped.Error()}}
}

// timeout returns a channel that receives a value at the deadline. The channel is nil if there
// is no deadline.
func (d *decommission) timeout() <-chan time.Time {
	if d == nil || d.timer == nil {
		return nil
	}
	return d.timer.C
}

// DecommissionSignal returns a channel for Options.Decommission. The channel receives one
// value when this process receives SIGPWR, the signal with which Spark's workers are
// decommissioned. It receives nothing on systems without this signal. stop ends the reception
// of the signal.
func DecommissionSignal() (reasons <-chan string, stop func()) {
	received := make(chan string, 1)
	if decommissionSignal == nil {
		return received, func() {}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, decommissionSignal)
	done := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		select {
		case <-signals:
			received <- "it was sent SIGPWR"
		case <-done:
		}
	})
	return received, func() {
		signal.Stop(signals)
		close(done)
		listening.Wait()
	}
}

package worker

import (
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

// goAway begins it. Applications hear of it from the master, and let their
// executors finish what they do.
func (w *worker) goAway(reason string) {
	if w.decommission != nil || w.stopping != nil {
		return
	}
	w.decommission = &decommission{reason: reason}
	if wait := config.WorkerDecommissionTimeout.In(w.options.Settings); wait > 0 {
		w.decommission.deadline = time.Now().Add(wait)
		w.decommission.timer = time.NewTimer(wait)
	}
	w.logger.Info("worker is decommissioned", "reason", reason, "running", len(w.running), "waits", config.WorkerDecommissionTimeout.In(w.options.Settings))
	w.tell(w.decommission.message())
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

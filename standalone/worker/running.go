package worker

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// historyLength is how many executors and drivers that have ended a worker
// shows, as Spark's worker.ui.retainedExecutors has it.
const historyLength = 1000

// Kinds of what runs.
const (
	kindExecutor = "executor"
	kindDriver   = "driver"
)

// running is an executor or a driver from its launch until all its processes
// have ended.
type running struct {
	owner, process string // name its directory
	kind           string // one of the kinds
	cores          int
	memory         config.Size
	resources      map[string][]string
	began          time.Time
	state          string // as people read it
	end            context.CancelCauseFunc
	logURL         string
}

func (r *running) key() string { return r.owner + "/" + r.process }

// finished is what is shown of one that has ended.
type finished struct {
	running
	text  string
	ended time.Time
}

// begin adds one that is to run, under a context of its own.
func (w *worker) begin(r *running) context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	r.end, r.began, r.state = end, time.Now(), "launching"
	r.logURL = w.page.logURL(w.machine.host, r.owner, r.process)
	w.running[r.key()] = r
	return ctx
}

// finish takes out one that has ended, and remembers it for the page.
func (w *worker) finish(key, state, text string) {
	r := w.running[key]
	if r == nil {
		return
	}
	r.end(nil)
	delete(w.running, key)
	r.state = state
	w.history = append(w.history, finished{running: *r, text: text, ended: time.Now()})
	if len(w.history) > historyLength {
		w.history = w.history[len(w.history)-historyLength:]
	}
	w.removeWork(r.owner)
}

package worker

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// historyLength is how many ended executors and drivers the page shows at most, like Spark's
// worker.ui.retainedExecutors.
const historyLength = 1000

// Values of running.kind.
const (
	kindExecutor = "executor"
	kindDriver   = "driver"
)

// running is an executor or a driver, from launch to the end of all its processes.
type running struct {
	owner, process string // the directory is owner/process
	kind           string // kindExecutor or kindDriver
	cores          int
	memory         config.Size
	resources      map[string][]string
	began          time.Time
	state          string // for users
	end            context.CancelCauseFunc
	logURL         string
}

func (r *running) key() string { return r.owner + "/" + r.process }

// finished is an ended executor or driver.
type finished struct {
	running
	text  string
	ended time.Time
}

// begin adds an executor or driver, and returns the context that stops it.
func (w *worker) begin(r *running) context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	r.end, r.began, r.state = end, time.Now(), "launching"
	r.logURL = w.page.logURL(w.machine.host, r.owner, r.process)
	w.running[r.key()] = r
	return ctx
}

// finish removes an ended executor or driver, and keeps it for the page.
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

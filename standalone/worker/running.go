package worker

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// historyLength is the largest number of ended executors and drivers on the web page, like
// Spark's worker.ui.retainedExecutors.
const historyLength = 1000

// Values of running.kind.
const (
	kindExecutor = "executor"
	kindDriver   = "driver"
)

// running is an executor or a driver, from its launch until all its processes have ended.
type running struct {
	owner, process string // the process's directory is owner/process
	kind           string // kindExecutor or kindDriver
	cores          int
	memory         config.Size
	resources      map[string][]string
	began          time.Time
	state          string // name of the state, for users
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

// begin adds an executor or driver. It returns a context; when the context ends, the executor
// or driver must be stopped.
func (w *worker) begin(r *running) context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	r.end, r.began, r.state = end, time.Now(), "launching"
	r.logURL = w.page.logURL(w.machine.host, r.owner, r.process)
	w.running[r.key()] = r
	return ctx
}

// finish removes an executor or driver that has ended, and adds it to the history on the web
// page.
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

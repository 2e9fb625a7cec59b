package worker

import (
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/worker/guard"
)

// guardPause is before another guard is started in the place of one that did
// not come up.
const guardPause = time.Second

// watch keeps a guard beside the worker: where somebody ends one, another is
// started, which hears of all sessions.
type guardSupervisor struct {
	program, mark string
	logger        *slog.Logger
	quit          chan struct{}
	running       sync.WaitGroup

	mu       sync.Mutex
	guard    *guard.Guard // nil where none could be started
	sessions map[int]bool
}

// startWatch fails where no guard can be started.
func superviseGuard(program, mark string, logger *slog.Logger) (*guardSupervisor, error) {
	w := &guardSupervisor{program: program, mark: mark, logger: logger, quit: make(chan struct{}), sessions: map[int]bool{}}
	if err := w.start(); err != nil {
		return nil, err
	}
	w.running.Go(w.keep)
	return w, nil
}

func (w *guardSupervisor) start() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	var stderr io.Writer = os.Stderr
	if w.guard, err = guard.Start(w.program, w.mark, stderr); err != nil {
		return err
	}
	for session := range w.sessions {
		if err := w.guard.Watch(session); err != nil {
			return err
		}
	}
	return nil
}

// keep replaces a guard that ends.
func (w *guardSupervisor) keep() {
	for {
		var pause <-chan time.Time
		w.mu.Lock()
		ended := w.guard.Ended()
		w.mu.Unlock()
		select {
		case <-w.quit:
			return
		case <-ended:
		}
		for {
			w.logger.Warn("the process that ends executors when this worker is killed has ended itself, starting another")
			err := w.start()
			if err == nil {
				break
			}
			w.logger.Error("without it, what executors started may outlive a worker that is killed", "error", err)
			pause = time.After(guardPause)
			select {
			case <-w.quit:
				return
			case <-pause:
			}
		}
	}
}

// add has a session end with this process.
func (w *guardSupervisor) add(session int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions[session] = true
	if w.guard != nil {
		_ = w.guard.Watch(session) // it ended just now, and the next one hears of it
	}
}

// remove is of a session that has ended.
func (w *guardSupervisor) remove(session int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sessions, session)
	if w.guard != nil {
		_ = w.guard.Forget(session)
	}
}

// close ends what is left, and the guard.
func (w *guardSupervisor) close() error {
	close(w.quit)
	w.running.Wait()
	if w.guard == nil {
		return guard.Sweep(w.mark, w.sessions, 0)
	}
	return w.guard.Close()
}

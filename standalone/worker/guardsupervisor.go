package worker

import (
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/worker/guard"
)

// guardPause is the pause before a failed start of a guard is retried.
const guardPause = time.Second

// guardSupervisor runs a guard process (package guard) beside the worker. If the guard is
// killed, guardSupervisor starts another one and passes all sessions to it.
type guardSupervisor struct {
	program, mark string
	logger        *slog.Logger
	quit          chan struct{}
	running       sync.WaitGroup

	mu         sync.Mutex
	guard      *guard.Guard // nil if no guard could be started
	sessionIDs map[int]bool // sessions whose processes the guard kills
}

// superviseGuard starts a guard, and starts another one whenever it ends, until close is
// called. It fails if the first guard cannot be started.
func superviseGuard(program, mark string, logger *slog.Logger) (*guardSupervisor, error) {
	s := &guardSupervisor{program: program, mark: mark, logger: logger, quit: make(chan struct{}), sessionIDs: map[int]bool{}}
	if err := s.start(); err != nil {
		return nil, err
	}
	s.running.Go(s.restart)
	return s, nil
}

func (s *guardSupervisor) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	var stderr io.Writer = os.Stderr
	if s.guard, err = guard.Start(s.program, s.mark, stderr); err != nil {
		return err
	}
	for session := range s.sessionIDs {
		if err := s.guard.Watch(session); err != nil {
			return err
		}
	}
	return nil
}

func (s *guardSupervisor) restart() {
	for {
		var pause <-chan time.Time
		s.mu.Lock()
		ended := s.guard.Ended()
		s.mu.Unlock()
		select {
		case <-s.quit:
			return
		case <-ended:
		}
		for {
			s.logger.Warn("the process that ends executors when this worker is killed has ended itself, starting another")
			err := s.start()
			if err == nil {
				break
			}
			s.logger.Error("without it, what executors started may outlive a worker that is killed", "error", err)
			pause = time.After(guardPause)
			select {
			case <-s.quit:
				return
			case <-pause:
			}
		}
	}
}

// add makes the guard kill a session's processes when the worker ends.
func (s *guardSupervisor) add(session int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessionIDs[session] = true
	if s.guard != nil {
		_ = s.guard.Watch(session) // if Watch fails, the next guard is started with this session
	}
}

func (s *guardSupervisor) remove(session int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessionIDs, session)
	if s.guard != nil {
		_ = s.guard.Forget(session)
	}
}

// close makes the guard kill all remaining processes. It waits until the guard has ended.
func (s *guardSupervisor) close() error {
	close(s.quit)
	s.running.Wait()
	if s.guard == nil {
		return guard.Sweep(s.mark, s.sessionIDs, 0)
	}
	return s.guard.Close()
}

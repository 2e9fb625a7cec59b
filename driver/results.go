package driver

import "sync"

// results are the listener of a set whose results are taken by a loop. The event
// loop puts in without ever waiting.
type results struct {
	ready chan struct{} // holds a token where something was put in

	mu    sync.Mutex
	list  []Result
	ended bool
	err   error
}

func newResults() *results { return &results{ready: make(chan struct{}, 1)} }

// TaskDone adds a result.
func (r *results) TaskDone(result Result) {
	r.mu.Lock()
	r.list = append(r.list, result)
	first := len(r.list) == 1
	r.mu.Unlock()
	if first { // who has taken what there was takes again before it waits
		r.signal()
	}
}

// TaskFailed does nothing: the task is tried again, or the set ends.
func (r *results) TaskFailed(TaskFailure) {}

// Ended is the last that is put in.
func (r *results) Ended(err error) {
	r.mu.Lock()
	r.ended, r.err = true, err
	r.mu.Unlock()
	r.signal()
}

func (r *results) signal() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

func (r *results) take() (list []Result, ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, r.list = r.list, nil
	return list, r.ended, r.err
}

package executorbackend

import (
	"maps"
	"slices"
	"sync"
)

// life is what an executor keeps from one stream to the next.
type life struct {
	instance uint64 // tells it from other processes; 0 for one of a single stream

	mu   sync.Mutex
	held map[string]struct{} // keys of what it has that others may want
}

// hold adds a key, and reports whether it is new.
func (l *life) hold(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.held[key]; known {
		return false
	}
	if l.held == nil {
		l.held = map[string]struct{}{}
	}
	l.held[key] = struct{}{}
	return true
}

// release forgets keys that nobody wants any more.
func (l *life) release(keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		delete(l.held, key)
	}
}

// holding are all keys, in order.
func (l *life) holding() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.held))
}

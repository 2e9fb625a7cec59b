// Package recent reuses values that are expensive to take and may be a little old.
package recent

import (
	"sync"
	"time"
)

// MaxAge is how long a value is reused.
const MaxAge = 200 * time.Millisecond

// Value is a value that is taken at most once in MaxAge, regardless of the number of readers. It
// is safe for concurrent use.
type Value[T any] struct {
	take func() T

	mu    sync.Mutex
	value T
	taken time.Time
}

// New returns a Value that calls take, and never twice at the same time.
func New[T any](take func() T) *Value[T] { return &Value[T]{take: take} }

// Latest returns a value that is not older than MaxAge.
func (v *Value[T]) Latest() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.taken.IsZero() || time.Since(v.taken) >= MaxAge {
		v.value, v.taken = v.take(), time.Now()
	}
	return v.value
}

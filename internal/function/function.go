// Package function is the registry of a program's task functions, counters and
// gauges. Initializers of package variables register them, so that every process
// of the program has the same functions, counters and gauges.
package function

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Call is the argument of a task function and describes one attempt of a task.
type Call struct {
	TaskSet       string // name of the task set
	Index         int    // index of the task in its task set
	AttemptNumber int    // 0 for the first attempt of the task
	CPUs          int
	ExecutorID    string
	Host          string
	Shared        []byte // the encoded value that all tasks of the set share
	Input         []byte // the encoded input
	// Resources are the addresses of resources that the attempt may use, by name.
	Resources map[string][]string
	// Hold reports to the driver that this executor stores data under a key for later tasks, so
	// that dynamic allocation does not remove the executor when it is idle.
	Hold func(key string)
	// Driver sends the attempt's requests to the driver.
	Driver Driver
	// Values are the attempt's counters and gauges.
	Values *Values
	// Usage collects measurements of the attempt.
	Usage *Usage
}

// Driver sends requests of a task attempt to the driver.
type Driver interface {
	// CanCommit reports whether this attempt may commit its output.
	CanCommit(ctx context.Context) (bool, error)
	// Barrier waits until all tasks of the barrier task set have called Barrier equally often.
	Barrier(ctx context.Context) error
	// Peers returns the address of each task of a barrier task set, by task index; nil for
	// other task sets.
	Peers() []Peer
}

// Peer is the place where a task of a barrier task set runs.
type Peer struct {
	ExecutorID string
	Host       string
}

// ErrCommitDenied is the error of an attempt that may not commit its output, because another
// attempt of the same task may. It does not count as a failure of the task.
var ErrCommitDenied = errors.New("another attempt of the task commits its output")

// Body runs an attempt: it decodes the input, calls the user's task function and encodes the
// result. It panics if the task function panics.
type Body func(ctx context.Context, call Call) ([]byte, error)

var registry = struct {
	sync.RWMutex
	bodies   map[string]Body
	problems []error
	closed   bool // see Close
}{bodies: map[string]Body{}}

// Register registers a body under a unique name. It returns no error, because initializers of
// package variables cannot return one; errors are returned by Problems. After Close it has no
// effect.
func Register(name string, body Body) {
	registry.Lock()
	defer registry.Unlock()
	if registry.closed {
		return
	}
	if name == "" {
		registry.problems = append(registry.problems, errors.New("a function needs a name"))
		return
	}
	if _, taken := registry.bodies[name]; taken {
		registry.problems = append(registry.problems, fmt.Errorf("two functions are named %q", name))
		return
	}
	registry.bodies[name] = body
}

// Reject records why the named function cannot be registered, for Problems to return.
func Reject(name string, reason error) {
	registry.Lock()
	defer registry.Unlock()
	registry.problems = append(registry.problems, fmt.Errorf("function %q: %w", name, reason))
}

// Problems returns the errors of all registrations, joined; nil if there are none.
func Problems() error {
	registry.RLock()
	defer registry.RUnlock()
	return errors.Join(registry.problems...)
}

// Close ends registration. A process calls it before it runs the driver function: executors,
// which do not run this function, would not have what it registers.
func Close() {
	registry.Lock()
	defer registry.Unlock()
	registry.closed = true
}

// Closed reports whether Close was called.
func Closed() bool {
	registry.RLock()
	defer registry.RUnlock()
	return registry.closed
}

// Lookup returns the body registered under name, or an error that lists all names.
func Lookup(name string) (Body, error) {
	registry.RLock()
	defer registry.RUnlock()
	if body, ok := registry.bodies[name]; ok {
		return body, nil
	}
	return nil, fmt.Errorf("this program has no function %q (it has %q): functions must be registered "+
		"before bobbin.Main is called, in package variables", name, slices.Sorted(maps.Keys(registry.bodies)))
}

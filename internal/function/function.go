// Package function is the registry of a program's task functions, counters and
// gauges. Package variables fill it, so every process of the binary has the same.
package function

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Call is one attempt of a task: the argument of its function.
type Call struct {
	TaskSet       string // name of the task set
	Index         int    // of the task in its set
	AttemptNumber int    // 0 for the first attempt of the task
	CPUs          int
	ExecutorID    string
	Host          string
	Common        []byte // the shared value, encoded
	Input         []byte // encoded
	// Resources are the addresses that the attempt may use, by resource.
	Resources map[string][]string
	// Hold reports to the driver that the executor keeps data under a key.
	Hold func(key string)
	// Driver sends the attempt's requests to the driver.
	Driver Driver
	// Values are the attempt's counters and gauges.
	Values *Values
	// Usage has measurements of the attempt.
	Usage *Usage
}

// Driver has the requests of a task attempt to the driver.
type Driver interface {
	// CanCommit reports whether this attempt may commit its output.
	CanCommit(ctx context.Context) (bool, error)
	// Barrier waits until all tasks of the barrier set have called it equally often.
	Barrier(ctx context.Context) error
	// Peers returns the locations of the barrier set's tasks by index; nil for other sets.
	Peers() []Peer
}

// Peer is the location of a task of a barrier set.
type Peer struct {
	ExecutorID string
	Host       string
}

// ErrCommitDenied is the error of a task that may not commit its output. It does not
// count as a failure.
var ErrCommitDenied = errors.New("another attempt of the task commits its output")

// Body decodes the input of a call, calls the user's function and encodes the
// result. It may panic.
type Body func(ctx context.Context, call Call) ([]byte, error)

var registry = struct {
	sync.RWMutex
	bodies   map[string]Body
	problems []error
}{bodies: map[string]Body{}}

// Register registers a body under a name, which must be unique. Its callers are
// initializers of package variables, which cannot handle errors: Problems returns them.
func Register(name string, body Body) {
	registry.Lock()
	defer registry.Unlock()
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

// Reject adds the error of a function that cannot be registered to Problems.
func Reject(name string, reason error) {
	registry.Lock()
	defer registry.Unlock()
	registry.problems = append(registry.problems, fmt.Errorf("function %q: %w", name, reason))
}

// Problems returns all errors of registrations, joined; nil if there are none.
func Problems() error {
	registry.RLock()
	defer registry.RUnlock()
	return errors.Join(registry.problems...)
}

// Lookup returns the body of a name. Its error lists the registered names.
func Lookup(name string) (Body, error) {
	registry.RLock()
	defer registry.RUnlock()
	if body, ok := registry.bodies[name]; ok {
		return body, nil
	}
	return nil, fmt.Errorf("this program has no function %q (it has %q): functions must be registered "+
		"before bobbin.Main is called, in package variables", name, slices.Sorted(maps.Keys(registry.bodies)))
}

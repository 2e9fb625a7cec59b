// Package function keeps the functions that a program registered by name, so
// that every process started from the same binary can call them.
package function

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Call is one attempt of one task, as the executor hands it to its function.
type Call struct {
	TaskSet       string // the set's name
	Index         int    // the task's place in its set
	AttemptNumber int    // 0 for the first attempt of the task
	CPUs          int
	ExecutorID    string
	Host          string
	Common        []byte // what the tasks of the set share, encoded
	Input         []byte // the task's own input, encoded
	// Resources are the addresses of each further resource that the attempt may use.
	Resources map[string][]string
	// Hold tells the driver that the executor keeps something under a key for others.
	Hold func(key string)
	// Driver is what the attempt can ask of the driver.
	Driver Driver
	// Values are the attempt's counters and gauges.
	Values *Values
	// Usage is what the attempt takes beside its run.
	Usage *Usage
}

// Driver is the driver as an attempt of a task sees it.
type Driver interface {
	// CanCommit asks whether this attempt may commit its output.
	CanCommit(ctx context.Context) (bool, error)
	// Barrier waits until all tasks of the barrier set have called it as often.
	Barrier(ctx context.Context) error
	// Peers are where the tasks of the barrier set run, by index; nil for others.
	Peers() []Peer
}

// Peer is where a task of a barrier set runs.
type Peer struct {
	ExecutorID string
	Host       string
}

// ErrCommitDenied is returned by a task that may not commit its output. It then
// failed, but is not to blame.
var ErrCommitDenied = errors.New("another attempt of the task commits its output")

// Body runs a call: it decodes the input, runs the user's function and encodes
// what that returns. It may panic; the executor turns that into a failure.
type Body func(ctx context.Context, call Call) ([]byte, error)

var registry = struct {
	sync.RWMutex
	bodies   map[string]Body
	problems []error
}{bodies: map[string]Body{}}

// Register makes a body known under a name that no other has. It is called
// while package variables are made, where there is nobody to give an error to:
// what is wrong is kept for Problems.
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

// Reject keeps the reason why a function cannot be registered.
func Reject(name string, reason error) {
	registry.Lock()
	defer registry.Unlock()
	registry.problems = append(registry.problems, fmt.Errorf("function %q: %w", name, reason))
}

// Problems is what went wrong with the program's functions, nil if nothing.
func Problems() error {
	registry.RLock()
	defer registry.RUnlock()
	return errors.Join(registry.problems...)
}

// Lookup finds the body of a name. The error lists the names there are.
func Lookup(name string) (Body, error) {
	registry.RLock()
	defer registry.RUnlock()
	if body, ok := registry.bodies[name]; ok {
		return body, nil
	}
	return nil, fmt.Errorf("this program has no function %q (it has %q): functions must be registered "+
		"before bobbin.Main is called, in package variables", name, slices.Sorted(maps.Keys(registry.bodies)))
}

// Package function keeps the functions that a program registered by name, so
// that every process started from the same binary can call them.
package function

import (
	"context"
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
}

// Body runs a call: it decodes the input, runs the user's function and encodes
// what that returns. It may panic; the executor turns that into a failure.
type Body func(ctx context.Context, call Call) ([]byte, error)

var registry = struct {
	sync.RWMutex
	bodies map[string]Body
}{bodies: map[string]Body{}}

// Register makes a body known under a name that no other has.
func Register(name string, body Body) error {
	registry.Lock()
	defer registry.Unlock()
	if name == "" {
		return fmt.Errorf("a function needs a name")
	}
	if _, taken := registry.bodies[name]; taken {
		return fmt.Errorf("two functions are named %q", name)
	}
	registry.bodies[name] = body
	return nil
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

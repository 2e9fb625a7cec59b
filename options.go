package bobbin

import "github.com/bobbin-yarn/bobbin/internal/codec"

// Option changes how one run of a function goes.
type Option func(*runOptions)

type runOptions struct {
	name        string
	cpus        int
	maxFailures int
	hosts       func(index int) []string
	common      []byte
	executors   *ResourceProfile
	pool        string
	group       group
	resources   map[string]float64
	barrier     bool
	err         error
}

// Name gives the run a name for logs, errors and the status page; the
// function's name where it is left out.
func Name(name string) Option { return func(o *runOptions) { o.name = name } }

// CPUs is how many cores of its executor each task takes; task.cpus where it
// is left out.
func CPUs(n int) Option { return func(o *runOptions) { o.cpus = n } }

// MaxFailures is how often one task may fail before the run does: 1 allows no
// retry. It is task.maxFailures where it is left out.
func MaxFailures(n int) Option { return func(o *runOptions) { o.maxFailures = n } }

// Hosts says on which hosts the task of an input runs best. Where it is left
// out, inputs that have a method PreferredHosts() []string are asked.
func Hosts(preferred func(index int) []string) Option {
	return func(o *runOptions) { o.hosts = preferred }
}

// Shared gives every task of the run a value; it is sent to each executor
// once. A task reads it with [SharedValue].
func Shared[T any](value T) Option {
	return func(o *runOptions) {
		common, err := codec.Encode(value)
		if err != nil {
			o.err = err
		}
		o.common = common
	}
}

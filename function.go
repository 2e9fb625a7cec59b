package bobbin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// Function is a task function that every process of the program knows by name.
// It takes an In and gives an Out.
type Function[In, Out any] struct{ name string }

// Func registers a task function under a name that no other has. It belongs in
// a package variable, so that executors, which never run the driver's code,
// have it too.
//
// Inputs and results travel between processes: arrow.Record and []arrow.Record
// as Arrow IPC, everything else as CBOR, which keeps exported fields and what
// encoding.BinaryMarshaler says. A function that panics fails its task with the
// stack. What is wrong with a registration is told by [Main].
func Func[In, Out any](name string, f func(task *Task, input In) (Out, error)) *Function[In, Out] {
	if err := errors.Join(codec.Check(reflect.TypeFor[In]()), codec.Check(reflect.TypeFor[Out]())); err != nil {
		function.Reject(name, err)
		return &Function[In, Out]{name: name}
	}
	function.Register(name, func(ctx context.Context, call function.Call) ([]byte, error) {
		began := time.Now()
		input, err := codec.Decode[In](call.Input)
		if err != nil {
			return nil, undecodable{fmt.Errorf("input: %w", err)}
		}
		call.Usage.Decode = time.Since(began)
		output, err := f(&Task{Context: ctx, call: call}, input)
		if err != nil {
			return nil, err
		}
		began = time.Now()
		defer func() { call.Usage.Encode = time.Since(began) }()
		return codec.Encode(output)
	})
	return &Function[In, Out]{name: name}
}

// undecodable fails a task for good: the same bytes will not be read better by
// another executor.
type undecodable struct{ error }

// Permanent tells the executor that another try cannot help.
func (undecodable) Permanent() bool { return true }

// Result is the outcome of one task.
type Result[Out any] struct {
	// Index is the place of the task's input among the inputs.
	Index int
	Value Out
}

// Run calls the function on every input, one task an input, and returns the
// results in the order of the inputs. The first task that fails for good ends
// it with that task's error; the tasks that still run are then killed, as they
// are when ctx ends. Results of more than driver.maxResultSize together end it
// with a *driver.ResultSizeError.
func (f *Function[In, Out]) Run(ctx context.Context, session *Session, inputs []In, options ...Option) ([]Out, error) {
	results := make([]Out, len(inputs))
	for result, err := range f.stream(ctx, session, inputs, options, true) {
		if err != nil {
			return nil, err
		}
		results[result.Index] = result.Value
	}
	return results, nil
}

// Stream is Run that gives each result as soon as it is there. An error is the
// last thing it gives. Leaving the loop kills the tasks that still run.
//
// All results together may take far more memory than the driver has: those
// that the loop has not taken wait at their executors, but for some that are
// fetched ahead.
func (f *Function[In, Out]) Stream(ctx context.Context, session *Session, inputs []In, options ...Option) iter.Seq2[Result[Out], error] {
	return f.stream(ctx, session, inputs, options, false)
}

// stream is Stream; collect says that the results are kept.
func (f *Function[In, Out]) stream(ctx context.Context, session *Session, inputs []In, options []Option, collect bool) iter.Seq2[Result[Out], error] {
	return func(yield func(Result[Out], error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(session.ctx, func() { cancel(context.Cause(session.ctx)) })()
		job, err := f.job(ctx, session, inputs, options)
		if err != nil {
			yield(Result[Out]{}, fmt.Errorf("%s: %w", f.name, err))
			return
		}
		job.Collect = collect
		for result, err := range session.app.Driver.Run(ctx, job) {
			if err != nil {
				yield(Result[Out]{}, err)
				return
			}
			value, err := codec.Decode[Out](result.Value)
			if err != nil {
				yield(Result[Out]{}, fmt.Errorf("result of task %d of %q: %w", result.Index, job.Name, err))
				return
			}
			if !yield(Result[Out]{Index: result.Index, Value: value}, nil) {
				return
			}
		}
	}
}

// job describes a run to the driver.
func (f *Function[In, Out]) job(ctx context.Context, session *Session, inputs []In, options []Option) (driver.TaskSet, error) {
	chosen := runOptions{
		name:        f.name,
		cpus:        config.TaskCPUs.In(session.app.Settings),
		maxFailures: session.app.MaxFailures,
		resources:   config.TaskResources(session.app.Settings),
	}
	chosen.scheduled(ctx)
	for _, option := range options {
		option(&chosen)
	}
	if chosen.err != nil {
		return driver.TaskSet{}, fmt.Errorf("shared value: %w", chosen.err)
	}
	if chosen.cpus < 1 || chosen.maxFailures < 1 {
		return driver.TaskSet{}, fmt.Errorf("CPUs(%d) and MaxFailures(%d) must be at least 1", chosen.cpus, chosen.maxFailures)
	}
	var executors *profile.Profile
	if chosen.executors != nil {
		wanted, err := chosen.executors.profile(session.app.Settings)
		if err != nil {
			return driver.TaskSet{}, err
		}
		if chosen.cpus > wanted.Cores {
			return driver.TaskSet{}, fmt.Errorf("each task takes %d cores, and the executors of the resource profile have %d", chosen.cpus, wanted.Cores)
		}
		executors = wanted
	}
	if err := session.app.CheckFits(chosen.cpus, chosen.resources); err != nil {
		return driver.TaskSet{}, err
	}
	tasks := make([]driver.Task, len(inputs))
	for i, input := range inputs {
		encoded, err := codec.Encode(input)
		if err != nil {
			return driver.TaskSet{}, fmt.Errorf("input %d: %w", i, err)
		}
		tasks[i] = driver.Task{Input: encoded, Hosts: chosen.hostsOf(i, input)}
	}
	return driver.TaskSet{
		Name:        chosen.name,
		Function:    f.name,
		Common:      chosen.common,
		Tasks:       tasks,
		Profile:     executors,
		Group:       chosen.group.name,
		Description: chosen.group.description,
		Pool:        chosen.pool,
		Resources:   chosen.resources,
		Barrier:     chosen.barrier,
		CPUs:        chosen.cpus,
		MaxFailures: chosen.maxFailures,
	}, nil
}

func (o *runOptions) hostsOf(index int, input any) []string {
	if o.hosts != nil {
		return o.hosts(index)
	}
	if placed, ok := input.(interface{ PreferredHosts() []string }); ok {
		return placed.PreferredHosts()
	}
	return nil
}

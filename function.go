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
)

// Function is a registered task function from In to Out. [Func] returns a Function.
type Function[In, Out any] struct{ name string }

// Func registers f as a task function. The name must be unique in the program. Call Func in a
// package variable's initializer, so that executors, which do not run the driver function, register
// f too. [Main] reports invalid names and types. If Func is called after Main, the function's jobs
// fail.
//
// Inputs and results are serialized: arrow.RecordBatch and []arrow.RecordBatch as Arrow IPC, all
// other types as CBOR. CBOR contains a type's exported fields or, if the type implements
// encoding.BinaryMarshaler, the result of MarshalBinary. If f panics, the attempt fails with an
// error that contains the stack trace.
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
		output, err := f(NewTask(ctx, call), input)
		if err != nil {
			return nil, err
		}
		began = time.Now()
		defer func() { call.Usage.Encode = time.Since(began) }()
		return codec.Encode(output)
	})
	return &Function[In, Out]{name: name}
}

// undecodable is the error for an input that cannot be decoded.
type undecodable struct{ error }

// Permanent reports true, because a retry would receive the same input.
func (undecodable) Permanent() bool { return true }

// Result is the result of one task.
type Result[Out any] struct {
	Index int // index of the task's input among the job's inputs
	Value Out
}

// Run calls the function on every input, in one task each, and returns the results in the order of
// the inputs. If a task fails [MaxFailures] times, Run returns the task's last error. Run also
// fails with the cause of ctx if ctx ends, with [ErrClosed] if the session is closed, with
// [ErrCancelled] if the job is cancelled, and with a *driver.ResultSizeError if the total size of
// the results exceeds driver.maxResultSize. When Run fails, it kills the job's running tasks.
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

// Stream calls the function on every input as [Function.Run] does, and yields each result when it
// arrives. If the job fails, Stream yields the error and ends. If the caller's loop ends early,
// Stream kills the job's running tasks.
//
// The results together may be larger than the driver's memory. The driver fetches a few results in
// advance. Executors store the other results until the loop reaches them.
func (f *Function[In, Out]) Stream(ctx context.Context, session *Session, inputs []In, options ...Option) iter.Seq2[Result[Out], error] {
	return f.stream(ctx, session, inputs, options, false)
}

// stream implements Run and Stream. collect is true for Run, whose caller stores all results in the
// driver's memory.
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
		job.KeepsAllResults = collect
		defer session.app.HideProgress()
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
			if !collect {
				session.app.HideProgress()
			}
			if !yield(Result[Out]{Index: result.Index, Value: value}, nil) {
				return
			}
		}
	}
}

// job returns the task set for a call with these inputs and options.
func (f *Function[In, Out]) job(ctx context.Context, session *Session, inputs []In, options []Option) (driver.TaskSet, error) {
	settings := session.app.Settings
	o := jobOptions{TaskSet: driver.TaskSet{
		Name:        f.name,
		Function:    f.name,
		CPUs:        config.TaskCPUs.In(settings),
		MaxFailures: session.app.MaxFailures,
		Resources:   config.TaskResources(settings),
		Tasks:       make([]driver.Task, len(inputs)),
	}}
	o.FromContext(ctx)
	for _, option := range options {
		option(&o)
	}
	if o.err != nil {
		return driver.TaskSet{}, fmt.Errorf("shared value: %w", o.err)
	}
	if o.CPUs < 1 || o.MaxFailures < 1 {
		return driver.TaskSet{}, fmt.Errorf("CPUs(%d) and MaxFailures(%d) must be at least 1", o.CPUs, o.MaxFailures)
	}
	if o.profile != nil {
		var err error
		if o.Profile, err = o.profile.profile(settings); err != nil {
			return driver.TaskSet{}, err
		}
	}
	if err := session.app.CheckFits(o.CPUs, o.Resources, o.Profile); err != nil {
		return driver.TaskSet{}, err
	}
	for i, input := range inputs {
		encoded, err := codec.Encode(input)
		if err != nil {
			return driver.TaskSet{}, fmt.Errorf("input %d: %w", i, err)
		}
		o.Tasks[i] = driver.Task{Input: encoded, Hosts: o.hostsOf(i, input)}
	}
	return o.TaskSet, nil
}

// hostsOf returns the preferred hosts of the task of an input.
func (o *jobOptions) hostsOf(index int, input any) []string {
	if o.hosts != nil {
		return o.hosts(index)
	}
	if located, ok := input.(interface{ PreferredHosts() []string }); ok {
		return located.PreferredHosts()
	}
	return nil
}

package bobbin

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// Option sets an option of one job.
type Option func(*jobOptions)

// jobOptions is a job's task set, and the options for which [driver.TaskSet] has no field.
type jobOptions struct {
	driver.TaskSet
	hosts   func(index int) []string
	profile *ResourceProfile
	err     error // error of the option Shared: its value could not be encoded
}

// Name sets the job's name in logs, errors and status. The default is the function's
// name.
func Name(name string) Option { return func(o *jobOptions) { o.Name = name } }

// CPUs sets how many cores each task uses on its executor. The default is task.cpus.
func CPUs(n int) Option { return func(o *jobOptions) { o.CPUs = n } }

// MaxFailures sets after how many failures of the same task the job fails. 1 means no retry. The
// default is task.maxFailures.
func MaxFailures(n int) Option { return func(o *jobOptions) { o.MaxFailures = n } }

// Hosts sets the preferred hosts of the task of each input. The default is the result of the
// input's method PreferredHosts() []string, if the input's type has this method.
func Hosts(preferred func(index int) []string) Option {
	return func(o *jobOptions) { o.hosts = preferred }
}

// Shared sets a value that every task of the job can read by [SharedValue]. The driver sends the
// value once to each executor.
func Shared[T any](value T) Option {
	return func(o *jobOptions) {
		common, err := codec.Encode(value)
		if err != nil {
			o.err = err
		}
		o.Shared = common
	}
}

// Resource sets how much of one of its executor's resources each task uses. name is the name of the
// resource, such as "gpu". amount is a whole number of devices, or a fraction such as 0.5 so that
// several tasks share a device. 0 means none. [Task.Resources] returns the addresses of the devices.
// The default is task.resource.NAME.amount.
func Resource(name string, amount float64) Option {
	return func(o *jobOptions) {
		resources := maps.Clone(o.Resources)
		if resources == nil {
			resources = map[string]float64{}
		}
		if resources[name] = amount; amount == 0 {
			delete(resources, name)
		}
		o.Resources = resources
	}
}

// Barrier makes all tasks of the job run at the same time. The driver starts the tasks together
// when the executors have free cores for all tasks, and restarts all of them if a task fails or is
// lost. Tasks can wait for each other by [Task.Barrier]. Results are available when all tasks have
// succeeded.
func Barrier() Option { return func(o *jobOptions) { o.Barrier = true } }

// Pool sets the scheduling pool of the job. Pool has no effect unless scheduler.mode is FAIR. See
// scheduler.allocation.file. The default is the pool that [InPool] set in the job's context, or
// else "default".
func Pool(name string) Option { return func(o *jobOptions) { o.Pool = name } }

// Group returns a context. The jobs that are started with the context form a group, which
// [Session.CancelGroup] cancels. The status page shows name and description.
func Group(ctx context.Context, name, description string) context.Context {
	return driver.InGroup(ctx, name, description)
}

// InPool returns a context that sets the [Pool] of the jobs that are started with the context.
func InPool(ctx context.Context, name string) context.Context { return driver.InPool(ctx, name) }

// ResourceProfile describes the executors of a job. A zero field means the default from the
// settings.
type ResourceProfile struct {
	// Memory is the memory of the Go program, such as "8g". The default is executor.memory.
	Memory string
	// Overhead is the container's memory in addition to Memory, such as "1g". The default is
	// computed from Memory by executor.memoryOverhead and executor.memoryOverheadFactor.
	Overhead string
	// Cores is the number of tasks that an executor runs at once, if each task uses one core (see
	// [CPUs]). The default is executor.cores.
	Cores int
	// Resources are the amounts of other YARN resource types that each executor requests, such as
	// {"yarn.io/gpu": 1}. nil means the amounts in the settings. An empty map that is not nil means
	// no such resources.
	Resources map[string]int64
	// NodeLabel is the YARN node label expression for the executors' containers. The default is
	// yarn.executor.nodeLabelExpression.
	NodeLabel string
}

// OnExecutors runs the job's tasks on executors of a resource profile. The first job with the
// profile makes the driver request executors of the profile. Later jobs with an equal profile share
// these executors. The driver requests executor.instances executors or, with
// dynamicAllocation.enabled, as many as the tasks need. A local master runs all tasks on its only
// executor.
func OnExecutors(p ResourceProfile) Option {
	return func(o *jobOptions) { o.profile = &p }
}

// profile converts r to a profile.Profile. Zero fields of r get their values from settings.
func (r *ResourceProfile) profile(settings *config.Config) (*profile.Profile, error) {
	p := profile.Default(settings)
	if r.Memory != "" {
		memory, err := config.ParseSize(r.Memory)
		if err != nil || memory == 0 {
			return nil, fmt.Errorf("memory %q of the resource profile: want a size such as 512m or 2g", r.Memory)
		}
		p.Memory, p.Overhead = memory, config.ExecutorOverhead.Of(settings, memory)
	}
	if r.Overhead != "" {
		overhead, err := config.ParseSize(r.Overhead)
		if err != nil {
			return nil, fmt.Errorf("overhead %q of the resource profile: %w", r.Overhead, err)
		}
		p.Overhead = overhead
	}
	if r.Cores < 0 {
		return nil, fmt.Errorf("%d cores in the resource profile: want 1 or more, or 0 for executor.cores", r.Cores)
	}
	if r.Cores > 0 {
		p.Cores = r.Cores
	}
	if r.Resources != nil {
		// Parse the amounts as settings, so that the same validation applies to both.
		keys := map[string]string{}
		for resource, amount := range r.Resources {
			keys["yarn.executor.resource."+resource+".amount"] = strconv.FormatInt(amount, 10)
		}
		parsed, err := config.FromMap(keys)
		if err != nil {
			return nil, fmt.Errorf("resources of the resource profile: %w", err)
		}
		p.Resources = config.ExecutorResources(parsed)
	}
	if r.NodeLabel != "" {
		p.NodeLabel = r.NodeLabel
	}
	return &p, nil
}

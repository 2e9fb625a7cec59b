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

// Option is an option of one job.
type Option func(*jobOptions)

// jobOptions is a job while its options are applied.
type jobOptions struct {
	driver.TaskSet
	hosts     func(index int) []string
	executors *ResourceProfile
	err       error // of an option
}

// Name sets the job's name in logs, errors and the status page. The default is the
// function's name.
func Name(name string) Option { return func(o *jobOptions) { o.Name = name } }

// CPUs sets how many cores of its executor each task takes. The default is
// task.cpus.
func CPUs(n int) Option { return func(o *jobOptions) { o.CPUs = n } }

// MaxFailures sets how many failures of one task fail the job: 1 allows no retry.
// The default is task.maxFailures.
func MaxFailures(n int) Option { return func(o *jobOptions) { o.MaxFailures = n } }

// Hosts sets the hosts that the task of each input prefers. The default is the
// result of the inputs' method PreferredHosts() []string, if they have it.
func Hosts(preferred func(index int) []string) Option {
	return func(o *jobOptions) { o.hosts = preferred }
}

// Shared gives every task of the job a value, which each executor receives once. A
// task reads it by [SharedValue].
func Shared[T any](value T) Option {
	return func(o *jobOptions) {
		common, err := codec.Encode(value)
		if err != nil {
			o.err = err
		}
		o.Common = common
	}
}

// Resource sets how much of a resource of its executor each task takes: a whole
// number, or a fraction below 1 if several tasks share one, such as 0.5; 0 for
// none. [Task.Resources] returns the addresses. The default is
// task.resource.NAME.amount.
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

// Barrier makes all tasks of the job run at the same time. They start together as
// soon as the executors have room for all, and if one fails or is lost, all start
// again. They can wait for one another by [Task.Barrier]. Results are available
// once all tasks have succeeded.
func Barrier() Option { return func(o *jobOptions) { o.Barrier = true } }

// Pool sets the pool in which the job shares the executors with others, if
// scheduler.mode is FAIR (see scheduler.allocation.file). The default is the pool
// of [InPool], or else "default".
func Pool(name string) Option { return func(o *jobOptions) { o.Pool = name } }

type (
	groupKey struct{}
	poolKey  struct{}
	group    struct{ name, description string }
)

// Group puts the jobs that are started with the returned context into a group:
// [Session.CancelGroup] cancels them together by its name. The status page shows
// name and description.
func Group(ctx context.Context, name, description string) context.Context {
	return context.WithValue(ctx, groupKey{}, group{name: name, description: description})
}

// InPool sets the [Pool] of the jobs that are started with the returned context.
func InPool(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, poolKey{}, name)
}

// fromContext sets the options that Group and InPool have set in ctx.
func (o *jobOptions) fromContext(ctx context.Context) {
	if of, ok := ctx.Value(groupKey{}).(group); ok {
		o.Group, o.Description = of.name, of.description
	}
	if pool, ok := ctx.Value(poolKey{}).(string); ok {
		o.Pool = pool
	}
}

// ResourceProfile describes the executors of a job. The default of each field is
// the application's setting.
type ResourceProfile struct {
	// Memory of the Go program, such as "8g". The default is executor.memory.
	Memory string
	// Overhead is memory of the container beyond Memory. The default is computed from
	// Memory by executor.memoryOverhead and executor.memoryOverheadFactor.
	Overhead string
	// Cores is how many tasks of one CPU such an executor runs at once. The default
	// is executor.cores.
	Cores int
	// Resources are amounts of YARN's further resource types that each executor has,
	// such as {"yarn.io/gpu": 1}. They replace those of the settings; an empty map
	// that is not nil asks for none.
	Resources map[string]int64
	// NodeLabel is the node label expression of the executors. The default is
	// yarn.executor.nodeLabelExpression.
	NodeLabel string
}

// OnExecutors runs the job's tasks on executors of a resource profile. They are
// requested when the first job needs them, and serve all later jobs with an equal
// profile: executor.instances of them until the application ends, or as many as
// the tasks need with dynamicAllocation.enabled. A local master runs all tasks on
// its one executor.
func OnExecutors(wanted ResourceProfile) Option {
	return func(o *jobOptions) { o.executors = &wanted }
}

// profile returns r with the settings' values for the fields that are not set.
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
		return nil, fmt.Errorf("%d cores in the resource profile: want 1 or more, or 0 for as many as executor.cores says", r.Cores)
	}
	if r.Cores > 0 {
		p.Cores = r.Cores
	}
	if r.Resources != nil {
		// Parsing them as settings checks them by the same rules.
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

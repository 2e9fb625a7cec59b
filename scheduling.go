package bobbin

import (
	"context"
	"maps"
)

// Pool has the run's tasks share the executors as the pool of that name says,
// where scheduler.mode is FAIR (see scheduler.allocation.file); the pool of
// [InPool], or else "default", where it is left out.
func Pool(name string) Option { return func(o *runOptions) { o.pool = name } }

// Resource is how much of a resource of its executor each task takes: a whole
// number, or a part of one that several tasks use, such as 0.5; none for 0. The
// task gets the addresses by [Task.Resources]. What is left out is as
// task.resource.NAME.amount says.
func Resource(name string, amount float64) Option {
	return func(o *runOptions) {
		resources := maps.Clone(o.resources)
		if resources == nil {
			resources = map[string]float64{}
		}
		if resources[name] = amount; amount == 0 {
			delete(resources, name)
		}
		o.resources = resources
	}
}

// Barrier has the run's tasks run at the same time: all are started at once, as
// soon as the executors have room for them, and when one fails or is lost, all
// are started again. Such tasks can wait for one another by [Task.Barrier]. The
// results come when all are there.
func Barrier() Option { return func(o *runOptions) { o.barrier = true } }

type groupKey struct{}

type poolKey struct{}

// group is what jobs have in common that are started with a context.
type group struct{ name, description string }

// Group gives the runs that are started with the context a name by which
// [Session.CancelGroup] ends them together, and a description for people; both
// stand on the status page.
func Group(ctx context.Context, name, description string) context.Context {
	return context.WithValue(ctx, groupKey{}, group{name: name, description: description})
}

// InPool is [Pool] for all runs that are started with the context and name no
// pool of their own.
func InPool(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, poolKey{}, name)
}

// scheduled takes over what the context says of the runs started with it.
func (o *runOptions) scheduled(ctx context.Context) {
	o.group, _ = ctx.Value(groupKey{}).(group)
	if pool, ok := ctx.Value(poolKey{}).(string); ok {
		o.pool = pool
	}
}

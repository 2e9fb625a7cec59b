package bobbin

import (
	"fmt"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// ResourceProfile is what the executors of a run are made of. A field that is
// left out is as the application's settings say.
type ResourceProfile struct {
	// Memory is that of the Go program, "8g"; executor.memory where left out.
	Memory string
	// Overhead is memory that the container gets on top; where left out, what
	// executor.memoryOverhead and executor.memoryOverheadFactor make of Memory.
	Overhead string
	// Cores is how many tasks of one CPU such an executor runs at once;
	// executor.cores where left out.
	Cores int
	// Resources are amounts of YARN's further resource types that each executor
	// has, such as {"yarn.io/gpu": 1}; they replace those of the settings, and an
	// empty map that is not nil asks for none.
	Resources map[string]int64
	// NodeLabel is the node label expression of the executors;
	// yarn.executor.nodeLabelExpression where left out.
	NodeLabel string
}

// OnExecutors has the run's tasks run on executors of their own kind. They are
// asked for when the first run comes that wants them, and serve every later one
// that asks for the same: executor.instances of them, to the application's end,
// or as many as the work wants with dynamicAllocation.enabled. On a local master
// there is one executor, which runs everything.
func OnExecutors(wanted ResourceProfile) Option {
	return func(o *runOptions) { o.executors = &wanted }
}

// profile is the wanted one, with the settings in place of what was left out.
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
		// As settings they are held to the same rules.
		keys := map[string]string{}
		for kind, amount := range r.Resources {
			keys["yarn.executor.resource."+kind+".amount"] = strconv.FormatInt(amount, 10)
		}
		alone, err := config.FromMap(keys)
		if err != nil {
			return nil, fmt.Errorf("resources of the resource profile: %w", err)
		}
		p.Resources = config.ExecutorResources(alone)
	}
	if r.NodeLabel != "" {
		p.NodeLabel = r.NodeLabel
	}
	return &p, nil
}

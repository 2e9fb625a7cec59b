package client

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/profiling"
)

// ProfileOptions say what to profile.
type ProfileOptions struct {
	Type     string // cpu, heap, goroutine, mutex or block
	Duration time.Duration
	Executor string // id of the executor; "" for the 20 that run the most tasks
	Job      uint64 // only executors that run tasks of this job; 0 for all
	Driver   bool   // the driver's process, and no executor
}

// profileGrace is how much longer than its duration a profile may take.
const profileGrace = 30 * time.Second

// Profile takes a profile of a running application, and returns it in the format of go
// tool pprof. Users who may view the application may profile it.
func (c *Cluster) Profile(ctx context.Context, id string, o ProfileOptions) ([]byte, error) {
	if err := CheckApplicationID(id); err != nil {
		return nil, err
	}
	profile, err := c.rest.ProxyQuery(ctx, id, "/"+profiling.Path, profiling.Request(o).Values(), o.Duration+profileGrace)
	if err != nil {
		return nil, RefusedError(err)
	}
	return profile, nil
}

package client

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/profiling"
)

// ProfileOptions are the options of [Cluster.Profile].
type ProfileOptions struct {
	Type     string // cpu, heap, goroutine, mutex or block
	Duration time.Duration
	Executor string // id of the executor to profile; "" for the 20 executors that run the most tasks
	Job      uint64 // id of a job, to profile only executors that run its tasks; 0 for all jobs
	Driver   bool   // profile the driver's process instead of executors
}

// profileGrace is how much longer than the profile's duration a request may take.
const profileGrace = 30 * time.Second

// Profile profiles a running application, and returns the profile in the format of go tool pprof.
// Users who may view the application may profile it.
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

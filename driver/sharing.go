package driver

import (
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/scheduler"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

// schedulerConfig is how jobs share the executors.
func schedulerConfig(o *Options) scheduler.Config {
	c := o.Config
	process, node, rack := config.LocalityWaits(c)
	return scheduler.Config{
		LocalityWaitProcess: process, LocalityWaitNode: node, LocalityWaitRack: rack,
		RackOf:              o.RackOf,
		Mode:                sharing(c),
		Pools:               o.Pools,
		Exclusion:           exclusionOf(c),
		Speculation:         speculationOf(c),
		BarrierReserveDelay: config.BarrierPatience.In(c),
		BarrierTimeout:      config.BarrierTimeout.In(c),
	}
}

func sharing(c *config.Config) pool.Mode {
	if config.SchedulerMode.In(c) == pool.FAIR.String() {
		return pool.FAIR
	}
	return pool.FIFO
}

// pool is the name of the pool that a job is in; "" where there are none.
func (l *loop) pool(job *TaskSet) string {
	switch {
	case sharing(l.d.options.Config) == pool.FIFO:
		return ""
	case job.Pool == "":
		return pool.Default
	}
	return job.Pool
}

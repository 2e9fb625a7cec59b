package allocation

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// FromConfig returns the options that the settings of dynamic allocation define.
func FromConfig(c *config.Config) Options {
	or := func(set *time.Duration, otherwise time.Duration) time.Duration {
		if set != nil {
			return *set
		}
		return otherwise
	}
	backlog := config.BacklogTimeout.In(c)
	return Options{
		Min:                     config.MinExecutors.In(c),
		Max:                     config.MaxExecutors(c),
		Initial:                 config.InitialExecutors(c),
		IdleTimeout:             config.IdleTimeout.In(c),
		HoldingIdleTimeout:      or(config.CachedIdleTimeout.In(c), Never),
		BacklogTimeout:          backlog,
		SustainedBacklogTimeout: or(config.SustainedBacklogTimeout.In(c), backlog),
		Ratio:                   config.AllocationRatio.In(c),
	}
}

package am

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// renewCache keeps the application's files in the submitters' cache while the
// application runs: executors that are started late need them too, and a
// submission removes what nobody has used for yarn.cache.maxAge. It ends with
// ctx.
func (m *master) renewCache(ctx context.Context) {
	age := config.CacheMaxAge.In(m.start.config)
	if len(m.start.spec.CacheDirs) == 0 || age <= 0 {
		return
	}
	renewal := time.NewTicker(max(age/4, time.Minute))
	defer renewal.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-renewal.C:
			for _, directory := range m.start.spec.CacheDirs {
				if err := m.files.SetTimes(ctx, directory, time.Time{}, now); err != nil && ctx.Err() == nil {
					m.logger.Warn("a cached file may be removed too early", "directory", directory, "error", err)
				}
			}
		}
	}
}

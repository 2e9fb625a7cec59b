package am

import (
	"context"
	"time"
)

// cacheRenewal lies between two renewals of cached files. It does not depend on
// yarn.cache.maxAge: the one that counts is that of the submission that removes
// files, which is a day at least.
const cacheRenewal = time.Hour

// renewCache keeps the application's files in the submitters' cache while the
// application runs: executors that are started late need them too, and a
// submission removes files that nobody used for yarn.cache.maxAge. It ends with
// ctx.
func (m *master) renewCache(ctx context.Context) {
	renewal := time.NewTicker(cacheRenewal)
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

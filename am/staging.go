package am

import (
	"context"
	"strings"
	"time"
)

// cacheRenewal is the interval at which renewCache updates modification times. Other submissions
// remove cached files that are older than yarn.cache.maxAge, which is at least a day.
const cacheRenewal = time.Hour

// renewCache sets the modification times of the application's cache entries to the current time,
// every cacheRenewal until ctx ends. Otherwise other submissions could remove files that later
// executors need.
func (m *applicationMaster) renewCache(ctx context.Context) {
	renewal := time.NewTicker(cacheRenewal)
	defer renewal.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-renewal.C:
			for _, directory := range m.Spec.CacheDirs {
				if err := m.Files.SetTimes(ctx, directory, time.Time{}, now); err != nil && ctx.Err() == nil {
					m.Logger.Warn("a cached file may be removed too early", "directory", directory, "error", err)
				}
			}
		}
	}
}

// removeStaging removes the application's staging directory. It is called when no container needs
// the staged files any more.
func (m *applicationMaster) removeStaging(ctx context.Context) {
	if m.Spec.StagingDir == "" {
		return
	}
	if err := m.Files.RemoveAll(ctx, m.Spec.StagingDir); err != nil {
		m.Logger.Warn("staged files were not removed", "directory", m.Spec.StagingDir, "error", err)
	}
	// Remove fails if the parent directory contains the directory of another application.
	if parent := strings.LastIndexByte(m.Spec.StagingDir, '/'); parent > 0 {
		_ = m.Files.Remove(ctx, m.Spec.StagingDir[:parent])
	}
}

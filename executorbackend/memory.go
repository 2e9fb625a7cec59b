package executorbackend

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/profiling"
)

const (
	// memoryInterval is the time between two measurements of this process's memory.
	memoryInterval = time.Second
	// nearLimitPercent is the percentage of the limit at which a heap profile is written.
	nearLimitPercent = 90
)

// watchMemory waits until the memory of this process, as returned by resident, comes near the
// limit. It then writes a heap profile and returns. It also returns when ctx ends.
func (x *executor) watchMemory(ctx context.Context, resident func() uint64) {
	ticks := time.NewTicker(memoryInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		now := resident()
		if now < uint64(x.options.MemoryLimit)/100*nearLimitPercent {
			continue
		}
		logger := x.options.Logger.With("executor", x.options.ID, "resident", now, "limit", x.options.MemoryLimit)
		if err := x.keepHeapProfile(ctx); err != nil {
			logger.Warn("the executor's memory is near its container's limit, and no heap profile can be kept", "error", err)
			return
		}
		x.heapProfiled.Store(true)
		logger.Warn("the executor's memory is near its container's limit: a heap profile is kept", "file", x.options.HeapProfile)
		return
	}
}

func (x *executor) keepHeapProfile(ctx context.Context) error {
	p, err := profiling.Take(ctx, profiling.Heap, 0)
	if err != nil {
		return err
	}
	encoded, err := profiling.Encode(p)
	if err != nil {
		return err
	}
	return os.WriteFile(x.options.HeapProfile, encoded, 0o640)
}

// startMemoryWatch runs watchMemory in a goroutine until stop is called. It does nothing if
// Options has no memory limit or no file for the heap profile.
func (x *executor) startMemoryWatch(ctx context.Context) (stop func()) {
	if x.options.MemoryLimit <= 0 || x.options.HeapProfile == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { x.watchMemory(ctx, residentBytes) })
	return func() {
		cancel()
		watching.Wait()
	}
}

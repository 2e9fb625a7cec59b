package executorbackend

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/procfs"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// heartbeats controls the goroutine that sends heartbeats.
type heartbeats struct {
	quit chan struct{}
	done chan error
}

// startHeartbeats starts the heartbeats. The first one is sent after a random part of the
// interval, so that executors that start together do not send at the same times. If a send
// blocks for network.timeout, closeStream is called, and the heartbeats end.
func (e *engine) startHeartbeats(closeStream func()) *heartbeats {
	interval := max(config.ExecutorHeartbeat.In(e.options.Config), time.Millisecond)
	timeout := config.NetworkTimeout.In(e.options.Config)
	h := &heartbeats{quit: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		timer := time.NewTimer(rand.N(interval))
		defer timer.Stop()
		for {
			select {
			case <-h.quit:
				h.done <- nil
				return
			case <-timer.C:
			}
			if blocked := e.out.blockedFor(); blocked > timeout {
				h.done <- exitError(ExitHeartbeatFailure,
					"executor %s could not send a heartbeat for %v: the driver receives no messages", e.options.ID, blocked.Round(time.Millisecond))
				closeStream()
				return
			}
			beat := &wire.Heartbeat{ResidentBytes: residentBytes(), Progress: e.progress(), HeapProfiled: e.heapProfiled.Load()}
			// Send in another goroutine, so that this goroutine can detect that the send blocks.
			e.running.Go(func() { e.out.sendHeartbeat(beat) })
			timer.Reset(interval)
		}
	}()
	return h
}

// stop stops the heartbeats. It returns an error if a send blocked for network.timeout.
func (h *heartbeats) stop() error {
	close(h.quit)
	return <-h.done
}

// progress returns the counters, gauges and metrics of the running attempts.
func (e *engine) progress() []*wire.TaskProgress {
	heap := heapBytes()
	e.mu.Lock()
	defer e.mu.Unlock()
	var running []*wire.TaskProgress
	for attempt, t := range e.tasks {
		if t.started {
			t.raisePeak(heap)
			metrics := &wire.Metrics{PeakMemoryBytes: heap}
			t.measureProgress(metrics, time.Since(t.startedAt))
			running = append(running, &wire.TaskProgress{Attempt: attempt, Values: t.currentValues(), Metrics: metrics})
		}
	}
	slices.SortFunc(running, func(a, b *wire.TaskProgress) int { return cmp.Compare(a.GetAttempt(), b.GetAttempt()) })
	return running
}

// residentBytes returns the resident memory of this process in bytes; 0 if it is unknown.
func residentBytes() uint64 {
	resident, _ := procfs.ResidentBytes(procfs.Self)
	return resident
}

package executorbackend

import (
	"math/rand/v2"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/procfs"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// heartbeat says at intervals that the executor lives, in a goroutine of its own.
type heartbeat struct {
	quit chan struct{}
	done chan error
}

// startHeartbeat begins after a random part of the interval, so that executors
// that start together do not speak together ever after. Where no message
// leaves for network.timeout it calls leave and ends.
func (e *engine) startHeartbeat(leave func()) *heartbeat {
	interval := max(config.ExecutorHeartbeat.In(e.options.Config), time.Millisecond)
	timeout := config.NetworkTimeout.In(e.options.Config)
	h := &heartbeat{quit: make(chan struct{}), done: make(chan error, 1)}
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
			if stuck := e.out.stuckFor(); stuck > timeout {
				h.done <- exitError(ExitHeartbeatFailure,
					"executor %s could not send a heartbeat for %v: the driver takes no messages", e.options.ID, stuck.Round(time.Millisecond))
				leave()
				return
			}
			beat := &wire.Heartbeat{ResidentBytes: residentBytes(), Progress: e.progress()}
			// Sending may block, and this is the goroutine that notices.
			e.running.Go(func() { e.out.beat(beat) })
			timer.Reset(interval)
		}
	}()
	return h
}

// stop ends the heartbeat and returns why it had given up, if it had.
func (h *heartbeat) stop() error {
	close(h.quit)
	return <-h.done
}

// residentBytes is the memory of this process that is in RAM; 0 where the system
// does not tell.
func residentBytes() uint64 {
	resident, _ := procfs.ResidentBytes(procfs.Self)
	return resident
}

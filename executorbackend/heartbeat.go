package executorbackend

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
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
			beat := &wire.Heartbeat{ResidentBytes: residentBytes(), Running: e.attempts(), Progress: e.progress()}
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

// residentBytes is the memory of this process that is in RAM, from
// /proc/self/statm, whose second field counts pages; 0 where there is none.
func residentBytes() uint64 {
	content, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(content)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}

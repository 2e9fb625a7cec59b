package driver

import (
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// pulse is what the heartbeats of one executor say that tell of no task. The
// goroutine of its stream notes it, as ten thousand executors that have nothing to
// do need not wake the event loop a thousand times a second for that.
type pulse struct {
	began    time.Time     // of the stream
	heard    atomic.Int64  // in nanoseconds after that; 0 for never
	resident atomic.Uint64 // bytes
}

// takes notes a message where it is nothing but such a heartbeat.
func (p *pulse) takes(message *wire.ExecutorMessage) bool {
	if !message.IsIdleHeartbeat() {
		return false
	}
	p.resident.Store(message.GetHeartbeat().GetResidentBytes())
	p.heard.Store(int64(time.Since(p.began)))
	return true
}

// feelPulse has the event loop know what the executor's pulse has told since.
func (e *executor) feelPulse() {
	p := &e.link.pulse
	heard := p.heard.Load()
	if heard == e.felt {
		return
	}
	e.felt, e.resident = heard, p.resident.Load()
	if at := p.began.Add(time.Duration(heard)); at.After(e.lastHeard) {
		e.lastHeard = at
	}
}

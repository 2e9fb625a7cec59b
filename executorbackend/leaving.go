package executorbackend

import (
	"fmt"
	"strings"
)

// leave asks the driver to let this executor go. What Serve returns in the end
// is of the exit code, unless the driver had its own reason before.
func (e *engine) leave(code int, reason string) {
	reason = strings.ToValidUTF8(reason, "\uFFFD")
	e.mu.Lock()
	first := e.leaving == nil
	if first {
		e.leaving = &ExitError{Code: code, Err: fmt.Errorf("executor %s left: %s", e.options.ID, reason)}
	}
	e.mu.Unlock()
	if first {
		e.options.Logger.Warn("no further tasks: this executor will leave", "executor", e.options.ID, "reason", reason)
		e.out.leave(reason)
	}
}

// heedSignals leaves when Options.Decommission says so, until quit is closed.
func (e *engine) heedSignals(quit <-chan struct{}) {
	select {
	case reason, ok := <-e.options.Decommission:
		if ok {
			e.leave(ExitDecommissioned, reason)
		}
	case <-quit:
	}
}

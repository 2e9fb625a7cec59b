package allocator

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/am/launcher"
)

// executor is an executor from the allocation of its container until the container has ended.
type executor struct {
	launcher.Executor
	profile    *profileState
	rack       string // rack of the host when the container was allocated
	state      executorState
	accepted   bool      // the NodeManager has accepted the executor
	registerBy time.Time // deadline for the registration with the driver; zero before the start, or if there is no deadline
	reason     string    // reason why the executor is decommissioning or ending
}

type executorState int

const (
	// stateLaunching ends when the executor registers with the driver.
	stateLaunching executorState = iota
	stateRegistered
	// stateDecommissioning begins when YARN announces the end of the container. The driver then
	// stops the executor.
	stateDecommissioning
	// stateEnding begins when the allocator releases the container, because the executor is killed
	// or the application ends.
	stateEnding
	executorStates // number of states
)

// counts reports whether an executor in this state counts towards the driver's demand.
func (s executorState) counts() bool { return s == stateLaunching || s == stateRegistered }

func (e *executor) host() string { return e.Container.Node.Host }

// youngestFirst compares executors by the allocation times of their containers, the latest first.
func youngestFirst(a, b *executor) int { return cmp.Compare(b.Container.ID.ID, a.Container.ID.ID) }

// describe returns a message that begins with "executor …" and ends with the text in what.
func (e *executor) describe(what string) string {
	return fmt.Sprintf("executor %s (%s on %s) %s", e.ID, e.Container.ID, e.host(), what)
}

package allocator

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/am/launcher"
)

// executor is one executor from the allocation to the end of its container.
type executor struct {
	launcher.Executor
	profile    *profileState
	rack       string // the host's rack, as known when the container was allocated
	state      executorState
	accepted   bool      // the NodeManager has accepted the executor
	registerBy time.Time // when the executor must have registered with the driver; zero before its start, or for no limit
	reason     string    // why it is decommissioning or ending
}

type executorState int

const (
	// stateLaunching lasts until the executor registers with the driver.
	stateLaunching executorState = iota
	stateRegistered
	// stateDecommissioning lasts from YARN's announcement to end the container until
	// the executor, which the driver asks to stop, has ended.
	stateDecommissioning
	// stateEnding begins when the container is released because of a kill or the
	// application's end.
	stateEnding
	executorStates // the number of states
)

// counts reports whether an executor in this state counts towards the driver's demand.
func (s executorState) counts() bool { return s == stateLaunching || s == stateRegistered }

func (e *executor) host() string { return e.Container.Node.Host }

// youngestFirst compares executors by the allocation of their containers, the latest first.
func youngestFirst(a, b *executor) int { return cmp.Compare(b.Container.ID.ID, a.Container.ID.ID) }

// describe returns a message that names the executor and ends with what.
func (e *executor) describe(what string) string {
	return fmt.Sprintf("executor %s (%s on %s) %s", e.ID, e.Container.ID, e.host(), what)
}

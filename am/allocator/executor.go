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
	profile *profileState
	rack    string // its host's, as known when the container was allocated
	state   executorState
	started bool      // its NodeManager has accepted it
	due     time.Time // by when it must register with the driver; zero before it is started, or for no limit
	reason  string    // why it is decommissioning or ending
}

// executorState is a step in an executor's life.
type executorState int

const (
	// stateLaunching lasts until the executor registers with the driver.
	stateLaunching executorState = iota
	stateRegistered
	// stateDecommissioning begins when YARN announces that it will end the
	// container, and lasts until the executor ends. The driver tells it to stop.
	stateDecommissioning
	// stateEnding begins when the container is released because the driver killed
	// the executor or the application has ended.
	stateEnding
	executorStates // the number of states
)

// counts reports whether an executor in this state counts towards the number that
// the driver wants.
func (s executorState) counts() bool { return s == stateLaunching || s == stateRegistered }

func (e *executor) host() string { return e.Container.Node.Host }

// youngestFirst compares executors by the times when their containers were
// allocated, the latest first.
func youngestFirst(a, b *executor) int { return cmp.Compare(b.Container.ID.ID, a.Container.ID.ID) }

// text returns a message about the executor that ends with what.
func (e *executor) text(what string) string {
	return fmt.Sprintf("executor %s (%s on %s) %s", e.ID, e.Container.ID, e.host(), what)
}

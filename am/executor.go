package am

import (
	"cmp"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// executor is one executor from its allocation to its container's end.
type executor struct {
	id        string
	container yarn.Container
	table     *table
	rack      string // when it was allocated
	state     executorState
	started   bool      // its NodeManager took it
	due       time.Time // when it must have registered; zero for never, and before it was started
	reason    string    // why it is decommissioning or ending
}

// executorState is how far an executor has come.
type executorState int

const (
	// stateLaunching is until it registers with the driver.
	stateLaunching executorState = iota
	stateRegistered
	// stateDecommissioning is of executors that were announced to the driver, which
	// has them leave.
	stateDecommissioning
	// stateEnding is of executors that were given back by the driver's wish.
	stateEnding
	executorStates // how many there are
)

// counts reports whether an executor in this state is one of those wanted.
func (s executorState) counts() bool { return s == stateLaunching || s == stateRegistered }

func (e *executor) host() string { return e.container.Node.Host }

// youngestFirst orders executors by when their containers were allocated.
func youngestFirst(a, b *executor) int { return cmp.Compare(b.container.ID.ID, a.container.ID.ID) }

// profile is what the executor is made of.
func (e *executor) profile() profile.Profile { return e.table.profile }

package yarntest

import (
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
)

// Fault makes calls fail.
type Fault struct {
	// Host is the host of the called server: a node's, or "rm" for every ResourceManager;
	// "" for all servers.
	Host string
	// Method is the called method, such as "allocate"; "" for all methods.
	Method string
	// Times is how many calls the fault hits; 0 for no limit.
	Times int
	// Chance is the probability that the fault hits a call; 0 means 1.
	Chance float64
	// Effect is what happens to a call that is hit.
	Effect ipctest.Fault

	hits int
}

// Inject makes calls fail until end is called. If several faults hit a call, the one that
// was injected first applies.
func (c *Cluster) Inject(fault Fault) (end func()) {
	f := &fault
	c.do(func() { c.faults = append(c.faults, f) })
	return func() {
		c.do(func() {
			for i, other := range c.faults {
				if other == f {
					c.faults = append(c.faults[:i:i], c.faults[i+1:]...)
					return
				}
			}
		})
	}
}

// faultsAt returns the function that decides how a call to a host's server fails, if it
// does.
func (c *Cluster) faultsAt(host string) func(protocol, method string, call ipctest.Call) ipctest.Fault {
	return func(protocol, method string, _ ipctest.Call) ipctest.Fault {
		master := !strings.Contains(protocol, "ContainerManagement")
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, f := range c.faults {
			switch {
			case f.Host != "" && f.Host != host && !(f.Host == "rm" && master):
			case f.Method != "" && f.Method != method:
			case f.Times > 0 && f.hits >= f.Times:
			case f.Chance > 0 && c.random.Float64() >= f.Chance:
			default:
				f.hits++
				return f.Effect
			}
		}
		return ipctest.Fault{}
	}
}

// SpoilTokens gives the next n containers invalid tokens. A startContainers call with an
// invalid token fails for all its containers.
func (c *Cluster) SpoilTokens(n int) { c.do(func() { c.tokensToSpoil = n }) }

// IgnoreBlacklists makes the scheduler ignore blacklists, as the CapacityScheduler does if
// yarn.scheduler.include-port-in-node-name is set and the names in the blacklists have no
// ports.
func (c *Cluster) IgnoreBlacklists(ignore bool) { c.do(func() { c.ignoresBlacklists = ignore }) }

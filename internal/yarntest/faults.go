package yarntest

import (
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
)

// Fault describes calls that fail.
type Fault struct {
	// Host is the host of the called server: the name of a node, "rm" for all ResourceManagers,
	// or "" for all servers.
	Host string
	// Method is the called method, such as "allocate"; "" for all methods.
	Method string
	// Times is the number of calls that the fault affects; 0 means no limit.
	Times int
	// Chance is the probability that the fault affects a call; 0 means 1.
	Chance float64
	// Effect is the effect on a call that is affected.
	Effect ipctest.Fault

	hits int
}

// Inject makes calls fail until end is called. If several faults match a call, the fault that
// was injected first affects it.
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

// faultsAt returns the function that determines whether and how a call to a host's server
// fails.
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

// SpoilTokens makes the tokens of the next n containers invalid. A call of startContainers with
// an invalid token fails for all its containers.
func (c *Cluster) SpoilTokens(n int) { c.do(func() { c.tokensToSpoil = n }) }

// IgnoreBlacklists sets whether the scheduler ignores blacklists. The CapacityScheduler ignores
// them if yarn.scheduler.include-port-in-node-name is set and the names in the blacklists
// contain no ports.
func (c *Cluster) IgnoreBlacklists(ignore bool) { c.do(func() { c.ignoresBlacklists = ignore }) }

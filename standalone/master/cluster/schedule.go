package cluster

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// Schedule launches the drivers and executors that fit. It does nothing if nothing has changed
// since the last call.
func (c *Cluster) Schedule(now time.Time) {
	if !c.dirty || c.phase != PhaseAlive {
		return
	}
	c.dirty = false
	workers := c.schedulable()
	c.scheduleDrivers(workers)
	for _, a := range c.queue {
		if !a.launchable() || now.Before(a.retryAt) {
			continue
		}
		for _, demand := range a.demands {
			c.placeExecutors(now, a, demand, workers)
		}
		c.reportWaitReason(a, workers)
	}
}

func (c *Cluster) schedulable() []*worker {
	var workers []*worker
	for _, w := range c.workersInOrder() {
		if w.schedulable() {
			workers = append(workers, w)
		}
	}
	return workers
}

// scheduleDrivers launches waiting drivers. workers must be shuffled. Each driver is launched
// on the next worker on which it fits.
func (c *Cluster) scheduleDrivers(workers []*worker) {
	if len(c.waitingDrivers) == 0 || len(workers) == 0 {
		return
	}
	shuffled := make([]*worker, len(workers))
	for to, from := range c.options.Random.Perm(len(workers)) {
		shuffled[to] = workers[from]
	}
	next := 0
	var waiting []*driver
	for _, d := range c.waitingDrivers {
		launched := false
		for range shuffled {
			w := shuffled[next]
			next = (next + 1) % len(shuffled)
			if w.capacity.fits(driverSize(d.description), 1) {
				c.launchDriver(d, w)
				launched = true
				break
			}
		}
		if !launched {
			waiting = append(waiting, d)
		}
	}
	c.waitingDrivers = waiting
}

// reportWaitReason sends an application the reason why an executor that it requests cannot be
// launched, if the reason has changed.
func (c *Cluster) reportWaitReason(a *application, workers []*worker) {
	text := ""
	for _, demand := range a.demands {
		if demand.GetTotal() > 0 && a.live[demand.GetProfile().GetId()] == 0 {
			text = c.whyNoExecutor(a, demand.GetProfile(), workers)
			break
		}
	}
	if text != a.waitReason {
		a.waitReason = text
		c.orderApplication(a).Hindrance = proto.String(text)
	}
}

// whyNoExecutor returns a text for users that explains why no executor of a profile can be
// launched.
func (c *Cluster) whyNoExecutor(a *application, profile *protocol.ExecutorProfile, workers []*worker) string {
	need := executorSize(profile)
	if len(workers) == 0 {
		return "the cluster has no worker that is alive"
	}
	if left := c.coresLeft(a); left < need.cores {
		return fmt.Sprintf("an executor needs %d cores, and of the application's cores.max %d are left", need.cores, max(left, 0))
	}
	var mostCores int
	var mostMemory int64
	excluded, fits := 0, false
	for _, w := range workers {
		if a.excluded[w.address.host] {
			excluded++
			continue
		}
		mostCores, mostMemory = max(mostCores, w.capacity.cores), max(mostMemory, w.capacity.memory)
		fits = fits || w.capacity.fitsWhenUnused(need)
	}
	switch {
	case excluded == len(workers):
		return "all workers are on hosts that the application excludes"
	case !fits:
		needs := fmt.Sprintf("%d cores and %s of memory", need.cores, config.Size(need.memory))
		for name, amount := range need.resources {
			needs += fmt.Sprintf(", %d of %s", amount, name)
		}
		return fmt.Sprintf("no worker is large enough for an executor, which needs %s: the largest has %d cores, and the largest %s of memory",
			needs, mostCores, config.Size(mostMemory))
	}
	return "all workers that are large enough are busy"
}

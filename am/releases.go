package am

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// release is a container that the ResourceManager was told to take back.
type release struct {
	id yarn.ContainerID
	at time.Time
}

// releasePatience is how long the end of a container that was given back is
// waited for. A ResourceManager that knows the container confirms it at the next
// heartbeat or the one after. One that has restarted knows a container when its
// node registers, which NodeManagers do within half a minute
// (yarn.resourcemanager.connect.retry-interval.ms), and never where the container
// was not started or its node is dead.
const releasePatience = time.Minute

// release gives a container back, once.
func (f *fleet) release(id yarn.ContainerID, node yarn.NodeID) {
	if _, already := f.releasing[id]; !already {
		f.releasing[id] = node
		f.releases = append(f.releases, id)
		f.changed = true
	}
}

// takeReleases returns the containers to give back, once.
func (f *fleet) takeReleases(now time.Time) []yarn.ContainerID {
	releases := f.releases
	f.releases = nil
	for _, id := range releases {
		f.told = append(f.told, release{id, now})
	}
	return releases
}

// forgetReleases takes containers for ended that were given back and of which
// the ResourceManager says nothing. Should their node come back with them, they
// are given back again.
func (f *fleet) forgetReleases(now time.Time) {
	for len(f.told) > 0 && now.Sub(f.told[0].at) >= releasePatience {
		id := f.told[0].id
		f.told = f.told[1:]
		if node, waiting := f.releasing[id]; waiting {
			f.unheard[node] = append(f.unheard[node], id)
			f.completed([]yarn.ContainerStatus{{ID: id, ExitStatus: yarn.ExitKilledByApplicationMaster}}, now)
		}
	}
}

// releaseAgain gives back what a node may have brought back.
func (f *fleet) releaseAgain(node yarn.NodeID) {
	for _, id := range f.unheard[node] {
		f.release(id, node)
	}
	delete(f.unheard, node)
}

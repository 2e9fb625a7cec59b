package allocator

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// sentRelease is a container whose release was sent to the ResourceManager at the given time.
type sentRelease struct {
	id yarn.ContainerID
	at time.Time
}

// releaseTimeout is how long to wait until the ResourceManager confirms a release. Usually this
// takes two heartbeats. A restarted ResourceManager confirms a release after the node has registered
// again, which takes half a minute (yarn.resourcemanager.connect.retry-interval.ms). It never confirms
// a release on a dead node.
const releaseTimeout = time.Minute

// release queues the release of a container. It does nothing if the release is already queued or
// sent.
func (s *state) release(id yarn.ContainerID, node yarn.NodeID) {
	if _, ok := s.releasing[id]; !ok {
		s.releasing[id] = node
		s.releases = append(s.releases, id)
		s.changed = true
	}
}

// takeReleases returns the queued releases for the next heartbeat, and records them as sent.
func (s *state) takeReleases(now time.Time) []yarn.ContainerID {
	releases := s.releases
	s.releases = nil
	for _, id := range releases {
		s.sentReleases = append(s.sentReleases, sentRelease{id, now})
	}
	return releases
}

// expireReleases treats a container as ended if the ResourceManager has not confirmed its release
// within releaseTimeout.
func (s *state) expireReleases(now time.Time) {
	for len(s.sentReleases) > 0 && now.Sub(s.sentReleases[0].at) >= releaseTimeout {
		id := s.sentReleases[0].id
		s.sentReleases = s.sentReleases[1:]
		if node, waiting := s.releasing[id]; waiting {
			s.unconfirmedReleases[node] = append(s.unconfirmedReleases[node], id)
			s.completed([]yarn.ContainerStatus{{ID: id, ExitStatus: yarn.ExitKilledByApplicationMaster}}, now)
		}
	}
}

// releaseAgain is called when a node is running again. It repeats the releases of containers on
// this node that were never confirmed.
func (s *state) releaseAgain(node yarn.NodeID) {
	for _, id := range s.unconfirmedReleases[node] {
		s.release(id, node)
	}
	delete(s.unconfirmedReleases, node)
}

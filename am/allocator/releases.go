package allocator

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// sentRelease is a container whose release was sent, and when.
type sentRelease struct {
	id yarn.ContainerID
	at time.Time
}

// releaseTimeout is how long to wait until the ResourceManager confirms a release, which
// usually takes two heartbeats. A restarted ResourceManager confirms a release when the
// node has registered, after half a minute
// (yarn.resourcemanager.connect.retry-interval.ms), or never if the node is dead.
const releaseTimeout = time.Minute

// release queues the release of a container, unless it is being released already.
func (s *state) release(id yarn.ContainerID, node yarn.NodeID) {
	if _, ok := s.releasing[id]; !ok {
		s.releasing[id] = node
		s.releases = append(s.releases, id)
		s.changed = true
	}
}

// takeReleases returns the releases for the next heartbeat, and records them as sent.
func (s *state) takeReleases(now time.Time) []yarn.ContainerID {
	releases := s.releases
	s.releases = nil
	for _, id := range releases {
		s.sentReleases = append(s.sentReleases, sentRelease{id, now})
	}
	return releases
}

// expireReleases treats containers as ended if no confirmation came within releaseTimeout.
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

// releaseAgain releases the containers of a node that has come back, if their first release
// was never confirmed.
func (s *state) releaseAgain(node yarn.NodeID) {
	for _, id := range s.unconfirmedReleases[node] {
		s.release(id, node)
	}
	delete(s.unconfirmedReleases, node)
}

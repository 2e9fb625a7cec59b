package allocator

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// release is a container whose release was sent to the ResourceManager, and when.
type release struct {
	id yarn.ContainerID
	at time.Time
}

// releaseTimeout is how long to wait for the confirmation of a release. A
// ResourceManager that knows the container confirms it within two heartbeats. After
// a restart, it learns of the container when the node registers, which takes half a
// minute (yarn.resourcemanager.connect.retry-interval.ms), or never if the container
// was not started or the node is dead.
const releaseTimeout = time.Minute

// release queues the release of a container, unless it is being released already.
func (s *state) release(id yarn.ContainerID, node yarn.NodeID) {
	if _, ok := s.releasing[id]; !ok {
		s.releasing[id] = node
		s.releases = append(s.releases, id)
		s.changed = true
	}
}

// takeReleases returns the containers to release with the next heartbeat, and
// records them as sent.
func (s *state) takeReleases(now time.Time) []yarn.ContainerID {
	releases := s.releases
	s.releases = nil
	for _, id := range releases {
		s.sent = append(s.sent, release{id, now})
	}
	return releases
}

// expireReleases treats containers as ended if their release was not confirmed
// within releaseTimeout. They are released again if their node comes back.
func (s *state) expireReleases(now time.Time) {
	for len(s.sent) > 0 && now.Sub(s.sent[0].at) >= releaseTimeout {
		id := s.sent[0].id
		s.sent = s.sent[1:]
		if node, waiting := s.releasing[id]; waiting {
			s.unconfirmed[node] = append(s.unconfirmed[node], id)
			s.completed([]yarn.ContainerStatus{{ID: id, ExitStatus: yarn.ExitKilledByApplicationMaster}}, now)
		}
	}
}

// releaseAgain releases the containers of a node whose release was never confirmed:
// the node has come back, and may still run them.
func (s *state) releaseAgain(node yarn.NodeID) {
	for _, id := range s.unconfirmed[node] {
		s.release(id, node)
	}
	delete(s.unconfirmed, node)
}

//go:build integration

package standalone

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/recovery/etcdtest"
)

// newSiteWithEtcd creates a site whose masters store their state in a real etcd.
func newSiteWithEtcd(t *testing.T, masters int) (*site, *etcdtest.Server) {
	t.Helper()
	server := etcdtest.Start(t)
	return newSite(t, masters, map[string]string{
		"recovery.mode": "ETCD", "recovery.etcd.endpoints": server.Endpoint, "recovery.etcd.lease": "2s",
	}), server
}

// leader returns the index of the leader among the masters, or -1 if no master leads.
func (s *site) leader(t *testing.T) int {
	for i, m := range s.masters {
		if !m.alive() {
			continue
		}
		if phase := s.phase(t, i); phase != cluster.PhaseStandby && phase != "" {
			return i
		}
	}
	return -1
}

// awaitLeader waits until a master other than not is the leader, and returns its index.
func (s *site) awaitLeader(t *testing.T, not int) int {
	t.Helper()
	leader := -1
	await(t, "another master leads", func() bool {
		leader = s.leader(t)
		return leader >= 0 && leader != not
	})
	return leader
}

// TestFailover ends the leadership of a master in several ways while an application runs. The
// application must not be affected.
func TestFailover(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		take func(*testing.T, *daemon)
		back func(*testing.T, *daemon) // makes the old leader run again
	}{
		{"it is killed",
			func(t *testing.T, m *daemon) { m.kill(t) },
			func(t *testing.T, m *daemon) { m.start(t) }},
		{"it is stopped",
			func(t *testing.T, m *daemon) { m.stop(t) },
			func(t *testing.T, m *daemon) { m.start(t) }},
		{"it hangs, and goes on without knowing what has happened",
			func(t *testing.T, m *daemon) { m.signal(t, syscall.SIGSTOP) },
			func(t *testing.T, m *daemon) { m.signal(t, syscall.SIGCONT) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, _ := newSiteWithEtcd(t, 2)
			s.startMasters(t)
			old := s.awaitLeader(t, -1)
			s.startWorker(t, 3)
			s.startWorker(t, 3)
			s.awaitWorkers(t, 2)
			h, before := s.startHeld(t, 2, nil)
			known := s.onlyApplication(t)

			test.take(t, s.masters[old])
			s.awaitLeader(t, old)
			await(t, "all have found the new leader", func() bool {
				status := s.tryStatus(t)
				return status.Phase == cluster.PhaseAlive && s.aliveWorkers(t) == 2 && len(status.Applications) == 1 && status.Applications[0].Connected
			})
			assert.ElementsMatch(t, pids(before), pids(s.executors()), "no executor was ended, and none started")
			after := s.onlyApplication(t)
			assert.Equal(t, known.ID, after.ID)
			assert.Equal(t, executorIDs(known), executorIDs(after))

			// New applications must find the leader, whatever the order of the masters in the
			// URL.
			next := s.run(t, map[string]string{"executor.instances": "2"}, "tally", "1ms", "20")
			require.Zero(t, next.wait(t, testTimeout), "%s", next.stderr.text())
			assert.Equal(t, sumOfSquares(20), next.stdout.text())

			test.back(t, s.masters[old])
			await(t, "the old leader stands by", func() bool { return s.phase(t, old) == cluster.PhaseStandby })
			await(t, "the executors of the new work have ended", func() bool { return len(s.executors()) <= len(before) })
			assert.ElementsMatch(t, pids(before), pids(s.executors()))
			h.release(t)
		})
	}
}

// TestTheMasterLeadsAgainAfterARestartOfEtcd stops etcd for longer than the leader's lease. The
// master must lose the leadership and acquire it again. The application must not be affected.
func TestTheMasterLeadsAgainAfterARestartOfEtcd(t *testing.T) {
	t.Parallel()
	s, server := newSiteWithEtcd(t, 1)
	s.startMasters(t)
	s.startWorker(t, 2)
	h, before := s.startHeld(t, 2, nil)
	server.Kill()
	await(t, "the master leads no more", func() bool { return s.phase(t, 0) == cluster.PhaseStandby })
	server.Run(t)
	await(t, "the master leads again", func() bool {
		status := s.tryStatus(t)
		return status.Phase == cluster.PhaseAlive && len(status.Applications) == 1 && status.Applications[0].Connected && len(status.Applications[0].Executors) == 2
	})
	assert.ElementsMatch(t, pids(before), pids(s.executors()))
	h.release(t)
}

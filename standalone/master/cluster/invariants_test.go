package cluster

import (
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// check checks the invariants that must hold between two events.
func (s *sim) check() {
	c, t := s.c, s.t
	for _, w := range c.workers {
		var cores int
		var memory int64
		used := map[string]map[string]int{}
		count := func(of reservation) {
			cores += of.cores
			memory += of.memory
			for name, addresses := range of.resources {
				for _, address := range addresses {
					if used[name] == nil {
						used[name] = map[string]int{}
					}
					used[name][address]++
				}
			}
		}
		for key, e := range w.executors {
			require.Equal(t, key, e.key)
			require.Same(t, w, e.worker)
			count(e.reserved)
			if a := e.application; a != nil {
				require.True(t, a.hasEnded() && e.killing || a.executors[key.id] == e, "executor %v is of no application", key)
			} else {
				require.True(t, e.killing, "executor %v is of nobody, and stays", key)
			}
		}
		for _, r := range w.runs {
			count(r.reserved)
			require.True(t, r.driver == nil || r.driver.run == r)
		}
		require.Equal(t, cores, w.capacity.usedCores)
		require.Equal(t, memory, w.capacity.usedMemory)
		for name := range w.capacity.resources {
			require.Len(t, w.capacity.used[name], len(used[name]))
		}
		require.LessOrEqual(t, w.capacity.usedCores, w.capacity.cores, "cores of %s are given out twice", w.id)
		require.LessOrEqual(t, w.capacity.usedMemory, w.capacity.memory, "memory of %s is given out twice", w.id)
		if w.dead {
			require.Empty(t, w.executors)
			require.Empty(t, w.runs)
		}
	}
	require.Len(t, c.queue, len(c.applications))
	for _, a := range c.queue {
		s.checkApplication(a)
	}
	for _, d := range c.waitingDrivers {
		require.Nil(t, d.run)
		require.Same(t, d, c.drivers[d.id])
	}
	s.checkStore()
	s.checkRetries()
}

func (s *sim) checkApplication(a *application) {
	t, c := s.t, s.c
	require.False(t, a.hasEnded())
	live, cores := map[uint32]int{}, 0
	for id, e := range a.executors {
		require.Same(t, e, e.worker.executors[e.key])
		require.LessOrEqual(t, id, a.highestID)
		if e.isActive() {
			live[e.profile.GetId()]++
			cores += e.reserved.cores
		}
	}
	require.Equal(t, cores, a.cores)
	for profile, n := range a.live {
		require.Equal(t, live[profile], n)
	}
	if a.sentAllExecutors {
		require.GreaterOrEqual(t, c.coresLeft(a), 0, "cores.max of %s", a.id)
	}
	if c.phase != PhaseAlive || !a.launchable() || s.now.Before(a.retryAt) {
		return
	}
	for _, d := range a.demands {
		profile := d.GetProfile()
		least := max(int(profile.GetCores()), 1)
		if a.live[profile.GetId()] >= int(d.GetTotal()) || c.coresLeft(a) < least {
			continue
		}
		for _, w := range c.workers {
			require.False(t, w.schedulable() && !a.excluded[w.address.host] &&
				w.capacity.fits(executorSize(profile), 1),
				"application %s wants executors of profile %d, %s has room, and none is launched", a.id, profile.GetId(), w.id)
		}
	}
}

// checkStore checks that a new master would recover the whole state from the store.
func (s *sim) checkStore() {
	t, c := s.t, s.c
	for id, w := range c.workers {
		_, kept := s.store[kindWorker+"/"+id]
		require.Equal(t, !w.dead, kept, "worker %s in the store", id)
	}
	for id, a := range c.applications {
		record, kept := s.store[kindApplication+"/"+id]
		if a.registration == "" {
			continue // the application has not attached yet
		}
		require.True(t, kept, "application %s in the store", id)
		var is ApplicationRecord
		require.NoError(t, proto.Unmarshal(record.Data, &is))
		require.GreaterOrEqual(t, is.GetExecutorIds()+1, min(a.highestID, a.reservedIDs+1), "ids of executors of %s", id)
		require.Nil(t, is.GetDescription().GetCommand(), "the store holds the application's secret")
	}
	for id, d := range c.drivers {
		record, kept := s.store[kindDriver+"/"+id]
		require.True(t, kept, "driver %s in the store", id)
		var is DriverRecord
		require.NoError(t, proto.Unmarshal(record.Data, &is))
		require.Equal(t, d.launch, is.GetLaunch())
		require.Equal(t, d.killing, is.GetKilled())
	}
}

// checkViews checks that the states of workers, applications and the master agree. All must
// have attached and received all messages.
func (s *sim) checkViews() {
	t := s.t
	for id, w := range s.workers {
		known := s.c.workers[id]
		require.True(t, w.attached && known != nil && known.attached, "worker %s", id)
		require.Empty(t, w.unacknowledged)
		require.Len(t, known.executors, len(w.processes), "executors of %s", id)
		for key := range w.processes {
			require.NotNil(t, known.executors[key])
		}
		require.Len(t, known.runs, len(w.drivers))
	}
	for _, a := range s.apps {
		if a.over {
			continue
		}
		known := s.c.applications[a.hello.GetApplicationId()]
		require.NotNil(t, known)
		for id, e := range known.executors {
			require.Contains(t, a.known, id, "an executor of %s: killing %t, leaving %t, %s on %s", known.id, e.killing, e.decommissioning, e.state, e.worker.id)
		}
		require.Len(t, a.known, len(known.executors), "executors that %s knows", known.id)
		for id, e := range a.known {
			require.NotNil(t, known.executors[id])
			require.Equal(t, known.executors[id].state, e.GetState())
		}
		require.Empty(t, known.ends, "ends that %s has not received", known.id)
		require.Empty(t, a.kills)
	}
}

// reattachAll attaches all workers and applications again, and advances the clock beyond all
// timeouts.
func (s *sim) reattachAll() {
	const rounds = 4
	for range rounds {
		for _, w := range s.workers {
			if !w.attached {
				s.attachWorker(w)
			}
		}
		for _, a := range s.apps {
			if !a.attached && !a.over {
				s.attachApp(a)
			}
		}
		s.settle()
		for _, w := range s.workers {
			for key, p := range w.processes {
				if p.state == protocol.ExecutorState_EXECUTOR_LAUNCHING {
					s.start(w, key)
				}
			}
		}
		s.settle()
		s.pass(max(s.options.ReconnectTimeout, s.options.RecoveryTimeout/(rounds-1)) + time.Second)
	}
	require.Equal(s.t, PhaseAlive, s.c.Phase())
}

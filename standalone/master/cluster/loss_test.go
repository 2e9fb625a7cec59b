package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

func (s *sim) stateOf(worker string) string {
	for _, w := range s.c.Status().Workers {
		if w.ID == worker {
			return w.State
		}
	}
	return ""
}

func TestASilentWorkerIsLost(t *testing.T) {
	s := newSim(t, testOptions())
	w := s.worker("w0", 1, 10*mib)
	a := s.app("a", 0, demand(0, 1, 1, 1))
	s.settle()
	s.now = s.now.Add(59 * time.Second)
	s.c.Tick(s.now)
	require.Equal(t, WorkerAlive, s.stateOf("w0"))
	s.now = s.now.Add(time.Second)
	s.c.Tick(s.now)
	s.settle()
	require.Equal(t, WorkerDead, s.stateOf("w0"))
	require.False(t, w.attached, "its stream is closed")
	require.Len(t, a.ends, 1)
	require.Equal(t, protocol.ExecutorState_EXECUTOR_LOST, a.ends[0].GetState())
	require.Contains(t, a.ends[0].GetText(), "nothing was heard of it for 1m0s")

	// The worker attaches with an executor that is no longer wanted, and is ordered to launch
	// another one.
	s.attachWorker(w)
	s.settle()
	s.check()
	require.Len(t, w.processes, 1)
	require.Contains(t, a.known, uint32(2))

	s.c.UnregisterWorker(s.now, "w0")
	s.settle()
	s.pass(14 * time.Minute)
	require.Equal(t, WorkerDead, s.stateOf("w0"), "it is shown for a while")
	s.pass(2 * time.Minute)
	require.Empty(t, s.stateOf("w0"))
}

func TestALostWorkerThatAttachesAgainKeepsItsStream(t *testing.T) {
	s := newSim(t, testOptions())
	w := s.worker("w0", 1, 10*mib)
	s.settle()
	s.now = s.now.Add(time.Minute)
	s.c.Tick(s.now)
	require.Equal(t, WorkerDead, s.stateOf("w0"))
	s.attachWorker(w) // before the old stream is closed
	require.Empty(t, s.c.Take().LostWorkers)
	require.Equal(t, WorkerAlive, s.stateOf("w0"))
}

func TestAPauseOfTheMasterLosesNothing(t *testing.T) {
	s := newSim(t, testOptions())
	s.worker("w0", 1, 10*mib)
	a := s.app("a", 0, demand(0, 1, 1, 1))
	s.settle()
	s.detachApp(a)
	s.now = s.now.Add(time.Hour)
	s.c.ExtendTimeouts(time.Hour)
	s.c.Tick(s.now)
	s.settle()
	require.Equal(t, WorkerAlive, s.stateOf("w0"))
	s.attachApp(a)
	s.settle()
	require.Len(t, a.known, 1)
}

func TestKillingAnApplicationKillsItsSupervisedDriver(t *testing.T) {
	for supervise, want := range map[bool]protocol.DriverState{
		true: protocol.DriverState_DRIVER_KILLED, false: protocol.DriverState_DRIVER_RUNNING,
	} {
		s := newSim(t, testOptions())
		s.worker("w0", 1, 10*mib)
		driver := submit(t, s, supervise)
		s.settle()
		a := s.app("a", 0)
		a.hello.Description.DriverId = driver
		s.detachApp(a)
		s.attachApp(a)
		require.True(t, s.c.KillApplication(s.now, a.hello.GetApplicationId(), "x"))
		s.settle()
		require.Equal(t, want, s.c.DriverStatus(driver).GetState())
	}
}

func TestADisconnectedWorkerGetsNothingNew(t *testing.T) {
	s := newSim(t, testOptions())
	w := s.worker("w0", 2, 10*mib)
	a := s.app("a", 0, demand(0, 1, 1, 1))
	s.settle()
	s.detachWorker(w)
	require.Equal(t, WorkerDisconnected, s.stateOf("w0"))
	s.ask(a, demand(0, 2, 1, 1))
	s.settle()
	require.Len(t, a.known, 1)
	s.pass(9 * time.Second)
	s.attachWorker(w)
	s.settle()
	require.Len(t, w.processes, 2, "it came back in time")
	require.Empty(t, a.ends)
	s.detachWorker(w)
	s.pass(10 * time.Second)
	require.Len(t, a.ends, 2)
}

func TestARestartedWorkerReplacesTheOldOne(t *testing.T) {
	s := newSim(t, testOptions())
	old := s.worker("old", 1, 10*mib)
	a := s.app("a", 0, demand(0, 1, 1, 1))
	s.settle()
	delete(s.workers, "old")
	again := s.worker("new", 1, 10*mib)
	s.detachWorker(again)
	again.hello.Host = old.hello.GetHost()
	s.attachWorker(again)
	s.settle()
	require.Equal(t, WorkerDead, s.stateOf("old"))
	require.Len(t, a.ends, 1)
	require.Len(t, again.processes, 1)
}

func TestALostLaunchIsOrderedAgain(t *testing.T) {
	s := newSim(t, testOptions())
	s.stuck = true
	w := s.worker("w0", 1, 10*mib)
	a := s.app("a", 0, demand(0, 1, 1, 1), demand(1, 1, 1, 1))
	s.settle()
	s.endProcess(w, executorKey{a.hello.GetApplicationId(), 1}, protocol.ExecutorState_EXECUTOR_EXITED, 0)
	s.c.Schedule(s.now)
	s.c.Take() // the new launch order is lost with the connection
	s.detachWorker(w)
	s.attachWorker(w)
	s.settle()
	s.check()
	require.Len(t, w.processes, 1)
}

func TestADisconnectedApplicationIsLost(t *testing.T) {
	s := newSim(t, testOptions())
	w := s.worker("w0", 2, 10*mib)
	a := s.app("a", 0, demand(0, 1, 1, 1))
	s.settle()
	s.detachApp(a)
	s.pass(9 * time.Second)
	require.Len(t, w.processes, 1)
	s.attachApp(a)
	s.settle()
	require.Len(t, w.processes, 1)
	s.detachApp(a)
	s.pass(10 * time.Second)
	require.Empty(t, w.processes)
	require.Equal(t, []string{a.hello.GetApplicationId()}, w.finished)
	require.Equal(t, ApplicationLost, s.c.Status().EndedApplications[0].State)
	s.attachApp(a)
	require.True(t, a.over)
	require.Contains(t, a.why, "is over (LOST)")
}

func TestTheSameRegistrationIsTheSameApplication(t *testing.T) {
	s := newSim(t, testOptions())
	a := s.app("a", 0)
	id := a.hello.GetApplicationId()
	a.hello.ApplicationId = "" // the welcome, which contains the id, was lost
	s.detachApp(&simApp{hello: &protocol.ApplicationHello{ApplicationId: id}, attached: true})
	s.attachApp(a)
	require.Equal(t, id, a.hello.GetApplicationId())

	_, err := s.c.AttachApplication(s.now, &protocol.ApplicationHello{Version: protocol.Version, Registration: "b", ApplicationId: id})
	require.ErrorContains(t, err, "registered by another process")
}

func TestDecommissioning(t *testing.T) {
	s := newSim(t, testOptions())
	w := s.worker("w0", 2, 10*mib)
	a := s.app("a", 0, demand(0, 1, 1, 1))
	s.settle()
	require.Equal(t, 1, s.c.Decommission(nil, []string{"host-w0", "elsewhere"}))
	s.settle()
	require.True(t, w.decommissionAsked)
	require.Equal(t, []uint32{1}, a.notices[0].GetExecutors())
	require.Equal(t, WorkerDecommissioning, s.stateOf("w0"))
	other := s.worker("w1", 2, 10*mib)
	s.settle()
	s.check()
	require.Len(t, other.processes, 1, "its executors are replaced at once")
	require.Len(t, w.processes, 1)

	// The notice is sent again after the application has attached again.
	a.notices = nil
	s.detachApp(a)
	s.attachApp(a)
	s.settle()
	require.Len(t, a.notices, 1)

	deadline := s.now.Add(time.Minute)
	s.c.WorkerDecommissioning(s.now, "w1", "its machine is taken away", deadline)
	s.settle()
	last := a.notices[len(a.notices)-1]
	require.Equal(t, "its machine is taken away", last.GetReason())
	require.Equal(t, deadline.UnixNano(), last.GetDeadline())
	told := len(a.notices)
	require.Equal(t, 1, s.c.Decommission([]string{"w1"}, nil))
	s.settle()
	require.Len(t, a.notices, told, "asking again takes no deadline back")
	require.Zero(t, s.c.Decommission([]string{"w2"}, nil))
}

func submit(t *testing.T, s *sim, supervise bool) string {
	reply, err := s.c.SubmitDriver(s.now, &protocol.SubmitDriverRequest{Description: &protocol.DriverDescription{
		Name: "d", Program: &protocol.File{Name: "x"}, Cores: 1, Memory: mib, Supervise: supervise,
		Properties: map[string]string{"secret": "x"},
	}})
	require.NoError(t, err)
	return reply.GetDriverId()
}

func TestDriversOfALostWorker(t *testing.T) {
	s := newSim(t, testOptions())
	w := s.worker("w0", 3, 10*mib)
	supervised, plain, killed := submit(t, s, true), submit(t, s, false), submit(t, s, true)
	s.settle()
	require.Len(t, w.drivers, 3)
	s.detachWorker(w)
	s.c.KillDriver(s.now, killed)
	s.pass(11 * time.Second)
	require.Equal(t, protocol.DriverState_DRIVER_RELAUNCHING, s.c.DriverStatus(supervised).GetState())
	lost := s.c.DriverStatus(plain)
	require.Equal(t, protocol.DriverState_DRIVER_ERROR, lost.GetState())
	require.Contains(t, lost.GetText(), "is not supervised")
	require.Equal(t, protocol.DriverState_DRIVER_KILLED, s.c.DriverStatus(killed).GetState())

	other := s.worker("w1", 1, 10*mib)
	s.settle()
	require.Contains(t, other.drivers, driverRunKey{supervised, 2})
	s.attachWorker(w)
	s.settle()
	s.check()
	require.Empty(t, w.drivers, "the old ones are ended where they ran")
	require.Len(t, other.drivers, 1)
	require.Equal(t, protocol.DriverState_DRIVER_RUNNING, s.c.DriverStatus(supervised).GetState())
}

func TestDriversOfAStoppingWorker(t *testing.T) {
	s := newSim(t, testOptions())
	w := s.worker("w0", 3, 10*mib)
	supervised, plain, killed := submit(t, s, true), submit(t, s, false), submit(t, s, true)
	s.settle()
	other := s.worker("w1", 3, 10*mib)
	s.c.WorkerDecommissioning(s.now, "w0", "its worker was stopped", time.Time{})
	s.c.KillDriver(s.now, killed)
	for _, id := range []string{supervised, plain, killed} {
		s.endDriver(w, driverRunKey{id, 1}, protocol.DriverState_DRIVER_LOST)
	}
	s.settle()
	s.check()
	require.Equal(t, protocol.DriverState_DRIVER_RUNNING, s.c.DriverStatus(supervised).GetState())
	require.Contains(t, other.drivers, driverRunKey{supervised, 2})
	require.Equal(t, protocol.DriverState_DRIVER_ERROR, s.c.DriverStatus(plain).GetState())
	require.Equal(t, protocol.DriverState_DRIVER_KILLED, s.c.DriverStatus(killed).GetState())
}

func TestAWaitingDriverIsKilledAtOnce(t *testing.T) {
	s := newSim(t, testOptions())
	id := submit(t, s, true)
	require.Equal(t, protocol.DriverState_DRIVER_KILLED, s.c.KillDriver(s.now, id).GetState())
	s.worker("w0", 1, 10*mib)
	s.settle()
	require.Empty(t, s.workers["w0"].drivers)
	require.Nil(t, s.c.KillDriver(s.now, "driver-x"))
}

func TestRecovery(t *testing.T) {
	s := newSim(t, testOptions())
	w, lost := s.worker("w0", 2, 10*mib), s.worker("w1", 1, 10*mib)
	a := s.app("a", 0, demand(0, 3, 1, 1))
	gone := s.app("gone", 0, demand(0, 1, 1, 1))
	s.settle()
	require.Len(t, a.known, 3)
	waiting := submit(t, s, false)
	s.settle()
	s.restart(true)
	require.Equal(t, PhaseRecovering, s.c.Phase())
	late := s.app("late", 0, demand(0, 1, 1, 1))
	s.attachWorker(w)
	s.attachApp(a)
	s.settle()
	require.Equal(t, PhaseRecovering, s.c.Phase())
	require.Empty(t, late.known, "nothing is launched before all are back")
	require.Equal(t, ApplicationUnknown, s.c.Status().Applications[1].State)
	s.pass(61 * time.Second)
	require.Equal(t, PhaseAlive, s.c.Phase())
	require.Len(t, a.known, 2)
	require.Equal(t, WorkerDead, s.stateOf("w1"))
	s.attachApp(gone)
	require.True(t, gone.over)

	s.attachWorker(lost)
	s.settle()
	s.check()
	require.Len(t, lost.drivers, 1, "the waiting driver comes first")
	require.Equal(t, protocol.DriverState_DRIVER_RUNNING, s.c.DriverStatus(waiting).GetState())
}

func TestRecoveryEndsWhenAllHaveAttached(t *testing.T) {
	s := newSim(t, testOptions())
	w := s.worker("w0", 3, 10*mib)
	a := s.app("a", 0, demand(0, 2, 1, 1))
	driver := submit(t, s, false)
	s.settle()
	s.register(a, 1)
	s.restart(true)
	s.attachApp(a)
	require.Equal(t, PhaseRecovering, s.c.Phase())
	s.attachWorker(w)
	require.Equal(t, PhaseAlive, s.c.Phase())
	s.settle()
	s.check()
	s.checkViews()
	require.Len(t, w.processes, 2)
	require.Empty(t, a.ends)
	require.Equal(t, protocol.DriverState_DRIVER_RUNNING, s.c.DriverStatus(driver).GetState())
	s.ask(a, demand(0, 3, 1, 1))
	s.killExecutor(a, 1)
	s.settle()
	require.Contains(t, a.known, uint32(reservedIDBlock+1), "no id is given again that may have been given")
}

// TestALostStore checks that a master without a store adds the executors that already run.
func TestALostStore(t *testing.T) {
	for name, applicationFirst := range map[string]bool{"application first": true, "worker first": false} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, testOptions())
			w := s.worker("w0", 3, 10*mib)
			a := s.app("a", 0, demand(0, 2, 1, 1))
			driver := submit(t, s, true)
			s.settle()
			id := a.hello.GetApplicationId()
			s.restart(false)
			if applicationFirst {
				s.attachApp(a)
				s.settle()
				s.pass(5 * time.Second)
				s.attachWorker(w)
			} else {
				s.attachWorker(w)
				s.settle()
				s.pass(5 * time.Second)
				s.attachApp(a)
			}
			s.settle()
			s.check()
			s.checkViews()
			require.Equal(t, id, a.hello.GetApplicationId())
			require.Len(t, a.known, 2)
			require.Empty(t, a.ends)
			require.Contains(t, w.drivers, driverRunKey{driver, 1})
			require.Equal(t, protocol.DriverState_DRIVER_RUNNING, s.c.DriverStatus(driver).GetState())
		})
	}
}

func TestExecutorsOfALostApplicationAreStopped(t *testing.T) {
	s := newSim(t, testOptions())
	w := s.worker("w0", 1, 10*mib)
	s.app("a", 0, demand(0, 1, 1, 1))
	s.settle()
	delete(s.apps, "a")
	s.restart(false)
	s.attachWorker(w)
	s.settle()
	require.Len(t, w.processes, 1)
	s.pass(11 * time.Second)
	require.Empty(t, w.processes)
	require.Empty(t, s.c.Status().EndedApplications, "nothing is known of it")
}

func TestEndedApplicationsAndDriversAreRetainedUpToALimit(t *testing.T) {
	s := newSim(t, testOptions())
	for range 8 {
		s.c.KillDriver(s.now, submit(t, s, false))
		a := s.app(time.Duration(len(s.apps)).String(), 0)
		s.c.KillApplication(s.now, a.hello.GetApplicationId(), "x")
	}
	s.settle()
	require.Len(t, s.c.Status().EndedApplications, 5)
	require.Len(t, s.c.Status().EndedDrivers, 5)
	require.Len(t, s.store, 10)
	require.Len(t, s.c.registrations, 5)
	require.LessOrEqual(t, len(s.c.submissions), 5)
	for _, record := range s.store {
		if record.Kind == kindDriver {
			var d DriverRecord
			require.NoError(t, proto.Unmarshal(record.Data, &d))
			require.Empty(t, d.GetDescription().GetProperties(), "what a driver was started with goes with it")
		}
	}
	s.restart(true)
	require.Equal(t, PhaseAlive, s.c.Phase(), "there is nobody to wait for")
	require.Len(t, s.c.Status().EndedDrivers, 5)
	require.Equal(t, "app-20010909014640-0015", s.c.Status().EndedApplications[0].ID)
}

func TestInvalidMessagesAreRefused(t *testing.T) {
	c := New(testOptions())
	now := time.Unix(1e9, 0)
	good := func() *protocol.WorkerHello {
		return &protocol.WorkerHello{Version: protocol.Version, WorkerId: "w", Host: "h", Cores: 1}
	}
	require.NoError(t, c.AttachWorker(now, good()))
	for want, change := range map[string]func(*protocol.WorkerHello){
		"speaks version 3":    func(h *protocol.WorkerHello) { h.Version = protocol.Version + 1 },
		"no id of a worker":   func(h *protocol.WorkerHello) { h.WorkerId = "../w" },
		"names no host":       func(h *protocol.WorkerHello) { h.Host = "" },
		"has no cores":        func(h *protocol.WorkerHello) { h.Cores = 0 },
		"the most is 1048576": func(h *protocol.WorkerHello) { h.Cores = 1 << 31 },
		"bytes of memory":     func(h *protocol.WorkerHello) { h.Memory = -1 },
		"executor 3 of app-1": func(h *protocol.WorkerHello) {
			h.Executors = []*protocol.ExecutorReport{{ApplicationId: "app-1", ExecutorId: 3, Cores: 1 << 30}}
		},
		"want 0 or more": func(h *protocol.WorkerHello) {
			h.Executors = []*protocol.ExecutorReport{{Profile: &protocol.ExecutorProfile{Resources: map[string]int64{"gpu": -1}}}}
		},
		"an executor's overhead o": func(h *protocol.WorkerHello) {
			h.Executors = []*protocol.ExecutorReport{{Profile: &protocol.ExecutorProfile{Overhead: -1}}}
		},
	} {
		hello := good()
		change(hello)
		require.ErrorContains(t, c.AttachWorker(now, hello), want)
	}
	_, err := c.AttachApplication(now, &protocol.ApplicationHello{Version: protocol.Version})
	require.ErrorContains(t, err, "registration is empty")
	_, err = c.AttachApplication(now, &protocol.ApplicationHello{Version: protocol.Version, Registration: "r", ApplicationId: "a/b"})
	require.ErrorContains(t, err, "no id of an application")
	id, err := c.AttachApplication(now, &protocol.ApplicationHello{Version: protocol.Version, Registration: "r"})
	require.NoError(t, err)
	require.ErrorContains(t, c.Request(id, &protocol.ExecutorRequest{Demands: []*protocol.ExecutorDemand{demand(1, 1, 1, 1), demand(1, 2, 1, 1)}}), "twice")
	require.ErrorContains(t, c.Request(id, &protocol.ExecutorRequest{Demands: []*protocol.ExecutorDemand{{}}}), "without a profile")
	_, err = c.SubmitDriver(now, &protocol.SubmitDriverRequest{})
	require.ErrorContains(t, err, "names no program")
}

func FuzzRecover(f *testing.F) {
	s := newSim(f, testOptions())
	s.worker("w0", 2, 10*mib, "0")
	s.app("a", 0, demand(0, 1, 1, 1))
	_, err := s.c.SubmitDriver(s.now, &protocol.SubmitDriverRequest{Submission: "s", Description: &protocol.DriverDescription{
		Program: &protocol.File{Name: "x"}, Supervise: true,
	}})
	require.NoError(f, err)
	s.settle()
	for _, record := range s.store {
		f.Add(record.Kind, record.Data)
	}
	f.Add(kindWorker, []byte{0xff})
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		c := New(testOptions())
		now := time.Unix(1e9, 0)
		_ = c.Recover(now, []recovery.Record{{Kind: kind, ID: "x", Data: data}, {Kind: kindDriver, ID: "y", Data: data}})
		c.Status()
		c.Tick(now.Add(time.Hour))
		c.Schedule(now.Add(time.Hour))
		c.Take()
		require.Equal(t, PhaseAlive, c.Phase())
	})
}

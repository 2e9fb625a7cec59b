package worker

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/loopback"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

func TestHeartbeats(t *testing.T) {
	m := startMaster(t)
	startWorker(t, nil, m)
	s := m.attached()
	for range 3 {
		s.await(func(m *protocol.WorkerMessage) bool { return m.GetHeartbeat() != nil })
	}
}

// Without heartbeats, the master would consider the worker dead.
func TestAMasterWithoutHeartbeatIntervalIsRefused(t *testing.T) {
	m := startMaster(t)
	m.want(0)
	w := startWorker(t, nil, m)
	m.attached()
	require.Eventually(t, func() bool { return strings.Contains(w.log.String(), "its heartbeat interval is 0 ms") }, timeout, time.Millisecond)
	require.NotContains(t, w.log.String(), "registered with master")
	m.want(50)
	for s := m.attached(); ; s = m.attached() {
		if message, ok := <-s.received; ok && message.GetHeartbeat() != nil {
			return
		}
	}
}

func TestExecutorsRunOnWithoutAMaster(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	startWorker(t, nil, m)
	s := m.attached()
	s.order(launchOrder(m.launchOf(1, "wait"), m.launchOf(2, "exit", "4")))
	pidfd, _ := handle(t, directory, "process")
	s.executor(2, protocol.ExecutorState_EXECUTOR_EXITED)

	close(s.orders)
	s = m.attached()
	require.Equal(t, []protocol.ExecutorState{protocol.ExecutorState_EXECUTOR_RUNNING, protocol.ExecutorState_EXECUTOR_EXITED}, statesOf(s.hello),
		"what runs, and what was not acknowledged")
	ended := s.hello.GetExecutors()[1]
	require.Equal(t, int32(4), ended.GetExitCode())
	require.Equal(t, uint32(2), ended.GetCores(), "a master that knows nothing can take it over")
	s.order(&protocol.WorkerOrder{Acknowledged: s.hello.GetSequence()})

	close(s.orders)
	s = m.attached()
	require.Equal(t, []protocol.ExecutorState{protocol.ExecutorState_EXECUTOR_RUNNING}, statesOf(s.hello))
	require.False(t, hasEnded(t, pidfd, 0))
	s.order(killOrder(1))
	report := s.await(func(m *protocol.WorkerMessage) bool { return m.GetReport() != nil }).GetReport()
	require.Greater(t, report.GetSequence(), s.hello.GetSequence())
	require.Equal(t, protocol.ExecutorState_EXECUTOR_KILLED, report.GetExecutors()[0].GetState())
}

func statesOf(hello *protocol.WorkerHello) []protocol.ExecutorState {
	var states []protocol.ExecutorState
	for _, report := range hello.GetExecutors() {
		states = append(states, report.GetState())
	}
	return states
}

func TestAWorkerAttachesToARestartedMaster(t *testing.T) {
	directory := notes(t)
	ports := &loopback.Ports{}
	defer func() { require.NoError(t, ports.Release()) }()
	address, err := ports.Reserve("127.0.0.1")
	require.NoError(t, err)
	first := startMasterAt(t, address)
	startWorker(t, nil, first)
	s := first.attached()
	s.order(launchOrder(first.launchOf(1, "wait")))
	handle(t, directory, "process")
	first.server.Stop()
	second := startMasterAt(t, first.address)
	again := second.attached()
	require.Equal(t, s.hello.GetWorkerId(), again.hello.GetWorkerId())
	require.Equal(t, []protocol.ExecutorState{protocol.ExecutorState_EXECUTOR_RUNNING}, statesOf(again.hello))
}

func TestAWorkerFollowsTheLeader(t *testing.T) {
	leader, standby, silent := startMaster(t), startMaster(t), startMaster(t)
	standby.refuse(protocol.StandbyError(leader.address)) // the worker does not know the leader's address yet
	silent.refuse(protocol.StandbyError(""))
	startWorker(t, nil, silent, standby)
	s := leader.attached()

	// The leader stops leading, and the standby becomes the leader.
	leader.refuse(protocol.StandbyError(""))
	standby.refuse(nil)
	close(s.orders)
	standby.attached()
}

func TestFilesAreFetchedFromAnyMaster(t *testing.T) {
	leader, standby := startMaster(t), startMaster(t)
	standby.refuse(protocol.StandbyError(leader.address))
	startWorker(t, nil, leader, standby)
	s := leader.attached()
	order := leader.launchOf(1, "exit", "0")
	order.Command.Files = []*protocol.File{standby.keep("file", []byte("only there"))}
	s.order(launchOrder(order))
	s.executor(1, protocol.ExecutorState_EXECUTOR_EXITED)
}

func TestAMasterOfAnEarlierTermIsRefused(t *testing.T) {
	newer, older := startMaster(t), startMaster(t)
	newer.term = 7
	older.refuse(protocol.StandbyError(newer.address))
	w := startWorker(t, nil, older, newer)
	s := newer.attached()
	s.await(func(m *protocol.WorkerMessage) bool { return m.GetHeartbeat() != nil }) // by now, the worker has refused older
	older.refuse(nil)                                                                // older has not learned yet that another master leads
	newer.refuse(status.Error(codes.Unavailable, "cut off"))
	close(s.orders)
	older.attached()
	require.Eventually(t, func() bool { return containsAll(w.log.String(), "another master has taken its place") }, timeout, time.Millisecond)
	newer.refuse(nil)
	newer.attached()
}

func TestAMasterThatHangsDoesNotDelayARound(t *testing.T) {
	hanging, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts connections
	require.NoError(t, err)
	defer func() { require.NoError(t, hanging.Close()) }()
	m := startMaster(t)
	m.refuse(protocol.StandbyError(hanging.Addr().String()))
	l := &connector{
		masters:     newMasters([]string{hanging.Addr().String(), m.address}, testCredentials(t).DialOptions()),
		slowTimeout: 10 * time.Millisecond,
	}
	defer l.masters.Close()
	hello := &protocol.WorkerHello{WorkerId: "worker"}
	found, refusals := l.askAll(t.Context(), hello)
	require.Nil(t, found)
	require.ErrorIs(t, refusals[hanging.Addr().String()], errSlow)
	m.refuse(nil)
	found, _ = l.askAll(t.Context(), hello)
	require.Equal(t, m.address, found.master)
	found.end(nil)
}

func TestARefusedWorkerEnds(t *testing.T) {
	m := startMaster(t)
	m.refuse(status.Error(codes.InvalidArgument, "a worker of another version"))
	w := startWorker(t, nil, m)
	var refused *RefusedError
	require.ErrorAs(t, w.end(), &refused)
	require.Equal(t, m.address, refused.Master)
	require.Equal(t, "a worker of another version", refused.Reason)
}

func TestAWorkerWaitsForAnUnreachableMaster(t *testing.T) {
	m := startMaster(t)
	m.refuse(status.Error(codes.Unavailable, "not yet"))
	w := startWorker(t, nil, m)
	require.Eventually(t, func() bool { return containsAll(w.log.String(), "cannot register with a master", "not yet") }, timeout, time.Millisecond)
	m.refuse(nil)
	m.attached()
}

func TestAStoppingWorkerUnregistersLast(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	w := startWorker(t, nil, m)
	s := m.attached()
	s.order(launchOrder(m.launchOf(1, "wait")))
	pidfd, _ := handle(t, directory, "process")
	s.executor(1, protocol.ExecutorState_EXECUTOR_RUNNING)
	w.stop()
	require.Equal(t, errStopped.Error(), s.executor(1, protocol.ExecutorState_EXECUTOR_LOST).GetText())
	s.await(func(m *protocol.WorkerMessage) bool { return m.GetUnregister() != nil })
	_, more := <-s.received
	require.False(t, more, "it says no more")
	require.NoError(t, w.end())
	require.True(t, hasEnded(t, pidfd, 0))
}

func TestAnEndedWorkerLeavesNoGoroutines(t *testing.T) {
	m := startMaster(t)
	before := goleak.IgnoreCurrent()
	w := startWorker(t, map[string]string{"worker.killGrace": "50ms"}, m)
	s := m.attached()
	s.order(launchOrder(m.launchOf(1, "idle"), m.launchOf(2, "print", "words")))
	s.executor(2, protocol.ExecutorState_EXECUTOR_EXITED)
	s.order(killOrder(1))
	w.stop()
	require.NoError(t, w.end())
	for began := time.Now(); goleak.Find(before) != nil && time.Since(began) < timeout; {
		continue // no pause is needed, because Find waits a little
	}
	goleak.VerifyNone(t, before)
}

func TestADecommissionedWorkerEndsWhenNothingRuns(t *testing.T) {
	for _, test := range []struct {
		name   string
		begin  func(w *testWorker, s *testStream)
		reason string
	}{
		{"by itself", func(w *testWorker, _ *testStream) { w.leave <- "its machine goes" }, "its machine goes"},
		{"by the master", func(_ *testWorker, s *testStream) { s.order(&protocol.WorkerOrder{Decommission: true}) }, "the master asked for it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			directory := notes(t)
			m := startMaster(t)
			w := startWorker(t, nil, m)
			s := m.attached()
			s.order(launchOrder(m.launchOf(1, "wait")))
			_, pid := handle(t, directory, "process")
			test.begin(w, s)
			said := s.await(func(m *protocol.WorkerMessage) bool { return m.GetDecommissioning() != nil }).GetDecommissioning()
			require.Equal(t, test.reason, said.GetReason())
			require.Zero(t, said.GetDeadline())

			// The worker accepts no new executors, not even from a new master.
			s.order(launchOrder(m.launchOf(2, "wait")))
			require.Contains(t, s.executor(2, protocol.ExecutorState_EXECUTOR_LOST).GetText(), "is being decommissioned: "+test.reason)
			close(s.orders)
			s = m.attached()
			require.True(t, s.hello.GetDecommissioning())
			s.await(func(m *protocol.WorkerMessage) bool { return m.GetDecommissioning().GetReason() == test.reason })

			terminate(t, pid)
			s.executor(1, protocol.ExecutorState_EXECUTOR_EXITED)
			s.await(func(m *protocol.WorkerMessage) bool { return m.GetUnregister() != nil })
			require.NoError(t, w.end())
		})
	}
}

func TestADecommissionedWorkerStopsEverythingAtItsDeadline(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	w := startWorker(t, map[string]string{"worker.decommissionTimeout": "50ms"}, m)
	s := m.attached()
	s.order(launchOrder(m.launchOf(1, "wait")))
	handle(t, directory, "process")
	w.leave <- "its machine goes"
	said := s.await(func(m *protocol.WorkerMessage) bool { return m.GetDecommissioning() != nil }).GetDecommissioning()
	require.Positive(t, said.GetDeadline())
	require.Equal(t, errDeadline.Error(), s.executor(1, protocol.ExecutorState_EXECUTOR_LOST).GetText())
	require.NoError(t, w.end())
}

func TestASignalDecommissionsAWorker(t *testing.T) {
	m := startMaster(t)
	process := workerProcess(t, t.TempDir(), m)
	s := m.attached()
	s.await(func(m *protocol.WorkerMessage) bool { return m.GetHeartbeat() != nil })
	require.NoError(t, process.Process.Signal(decommissionSignal))
	s.await(func(m *protocol.WorkerMessage) bool {
		return m.GetDecommissioning().GetReason() == "it was sent SIGPWR"
	})
	s.await(func(m *protocol.WorkerMessage) bool { return m.GetUnregister() != nil })
	require.NoError(t, process.Wait())
}

func TestTwoWorkersDoNotShareADirectory(t *testing.T) {
	m := startMaster(t)
	w := startWorker(t, nil, m)
	m.attached()
	err := Run(t.Context(), Options{Masters: []string{m.address}, Credentials: testCredentials(t), Settings: testSettings(t, w.directory, nil)})
	require.ErrorContains(t, err, "another running worker uses this directory")

	t.Setenv("HOME", t.TempDir())
	first, err := lockDirectory("")
	require.NoError(t, err)
	second, err := lockDirectory("")
	require.NoError(t, err)
	require.Equal(t, first.path+"-2", second.path)
	require.NoError(t, first.release())
	third, err := lockDirectory("")
	require.NoError(t, err)
	require.Equal(t, first.path, third.path)
	require.NoError(t, second.release())
	require.NoError(t, third.release())
}

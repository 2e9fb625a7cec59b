package worker

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// TestEveryEndReachesAMaster checks that a master learns of every end although messages are
// lost and repeated. The master receives a hello and some of the later reports, and
// acknowledges some of them.
func TestEveryEndReachesAMaster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newReports()
		ended := map[uint32]bool{} // executors that have ended
		known := map[uint32]bool{} // ends of which a master has learned
		var onTheWay []*protocol.WorkerReport
		receive := func(reports []*protocol.ExecutorReport) {
			for _, report := range reports {
				if report.GetState().Ended() {
					known[report.GetExecutorId()] = true
				}
			}
		}
		var received uint64
		next := uint32(0)
		t.Repeat(map[string]func(*rapid.T){
			"launch": func(*rapid.T) {
				message := r.setExecutor(&protocol.ExecutorReport{ExecutorId: next, State: protocol.ExecutorState_EXECUTOR_RUNNING})
				onTheWay = append(onTheWay, message.GetReport())
				next++
			},
			"end": func(t *rapid.T) {
				var live []uint32
				for id := range r.executors {
					if !ended[id.executor] {
						live = append(live, id.executor)
					}
				}
				if len(live) == 0 {
					t.Skip()
				}
				slices.Sort(live)
				id := rapid.SampledFrom(live).Draw(t, "executor")
				ended[id] = true
				onTheWay = append(onTheWay, r.setExecutor(&protocol.ExecutorReport{ExecutorId: id, State: protocol.ExecutorState_EXECUTOR_EXITED}).GetReport())
			},
			"receive": func(t *rapid.T) {
				if len(onTheWay) == 0 {
					t.Skip()
				}
				receive(onTheWay[0].GetExecutors())
				received = onTheWay[0].GetSequence()
				onTheWay = onTheWay[1:]
			},
			"acknowledge": func(t *rapid.T) { r.acknowledge(rapid.Uint64Range(0, received).Draw(t, "sequence")) },
			"reconnect": func(*rapid.T) {
				onTheWay = nil
				hello := &protocol.WorkerHello{}
				r.fill(hello)
				require.True(t, slices.IsSortedFunc(hello.GetExecutors(), func(a, b *protocol.ExecutorReport) int {
					return int(a.GetExecutorId()) - int(b.GetExecutorId())
				}))
				receive(hello.GetExecutors())
				received = hello.GetSequence()
			},
			"": func(t *rapid.T) {
				onWay := map[uint32]bool{}
				for _, report := range onTheWay {
					onWay[report.GetExecutors()[0].GetExecutorId()] = true
				}
				for id := range ended {
					if !known[id] && !onWay[id] && r.executors[executorID{"", id}] == nil {
						t.Fatalf("the end of executor %d is forgotten and was not received", id)
					}
				}
			},
		})
		hello := &protocol.WorkerHello{}
		r.fill(hello)
		receive(hello.GetExecutors())
		require.Equal(t, ended, known)
		r.acknowledge(hello.GetSequence())
		for id := range maps.Keys(r.executors) {
			require.False(t, ended[id.executor], "acknowledged ends are dropped")
		}
	})
}

func TestAcknowledgementsOfFutureReportsAreIgnored(t *testing.T) {
	r := newReports()
	r.setExecutor(&protocol.ExecutorReport{ExecutorId: 1, State: protocol.ExecutorState_EXECUTOR_EXITED})
	r.acknowledge(2)
	require.Len(t, r.executors, 1)
	r.acknowledge(1)
	require.Empty(t, r.executors)
}

package master

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// TestManyWorkersAndApplications attaches 500 workers and 50 applications at once,
// over TLS, and waits until all executors run.
func TestManyWorkersAndApplications(t *testing.T) {
	const workers, applications, each = 500, 50, 20
	m := start(t, nil, nil)
	leads(t, m)
	connections := make([]*grpc.ClientConn, 10)
	for i := range connections {
		connections[i] = dial(t, m)
	}
	begin := time.Now()
	var attached sync.WaitGroup
	for i := range workers {
		worker := attachWorker(t, connections[i%len(connections)], smallWorker(fmt.Sprintf("worker-%d", i)))
		attached.Go(func() {
			var sequence uint64
			for {
				order, err := worker.stream.Recv()
				if err != nil {
					return
				}
				if launches := order.GetLaunchExecutors(); len(launches) > 0 {
					sequence++
					report(worker, sequence, protocol.ExecutorState_EXECUTOR_RUNNING, launches...)
				}
			}
		})
	}
	var served sync.WaitGroup
	for i := range applications {
		application := attachApplication(t, connections[i%len(connections)], firstMessage(fmt.Sprintf("app-%d", i), each))
		served.Go(func() {
			running := map[uint32]bool{}
			for len(running) < each {
				order, err := application.stream.Recv()
				if err != nil {
					t.Errorf("application %d: %v", i, err)
					return
				}
				for _, e := range order.GetExecutors() {
					if e.GetState() == protocol.ExecutorState_EXECUTOR_RUNNING {
						running[e.GetId()] = true
					}
				}
			}
		})
	}
	served.Wait()
	t.Logf("%d executors on %d workers for %d applications after %s", applications*each, workers, applications, time.Since(begin))
	shown, err := m.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, applications*each, shown.CoresUsed)
	for _, w := range shown.Workers {
		require.LessOrEqual(t, w.CoresUsed, w.Cores)
	}
	m.stop()
	attached.Wait()
}

package driver_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// network forwards connections of executors to their driver. A test can make it fail.
type network struct {
	listener net.Listener
	target   string
	pumps    sync.WaitGroup

	mu          sync.Mutex
	connections []net.Conn
}

func newNetwork(t *testing.T, target string) *network {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n := &network{listener: listener, target: target}
	n.pumps.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", n.target)
			if err != nil {
				_ = near.Close()
				continue
			}
			n.mu.Lock()
			n.connections = append(n.connections, near, far)
			n.mu.Unlock()
			n.pumps.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
			n.pumps.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
		}
	})
	t.Cleanup(n.close)
	return n
}

// cut breaks every connection. New connections are still possible.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, connection := range n.connections {
		_ = connection.Close()
	}
	n.connections = nil
}

// close breaks every connection and refuses new connections.
func (n *network) close() {
	_ = n.listener.Close()
	n.cut()
	n.pumps.Wait()
}

func (n *network) address() string { return n.listener.Addr().String() }

func init() {
	function.Register("hold and nap", func(ctx context.Context, call function.Call) ([]byte, error) {
		call.Hold("key")
		select {
		case <-time.After(time.Duration(binary.BigEndian.Uint64(call.Input))):
		case <-ctx.Done():
		}
		return nil, nil
	})
}

func TestAnExecutorReconnects(t *testing.T) {
	m := &manager{}
	d, pass := networked(t, driver.Options{Manager: m})
	n := newNetwork(t, d.Addr())
	e := run(t, executorbackend.Options{ID: "1", Cores: 2}, n.address(), pass)
	job := naps(100, 2*time.Millisecond)
	job.Function, job.MaxFailures = "hold and nap", 10
	done := begin(t.Context(), d, job)
	await(t, d, func(s driver.Status) bool { return s.Totals.Done >= 10 })
	n.cut()
	require.NoError(t, <-done)
	// The job may have ended before the connection broke.
	status := await(t, d, func(s driver.Status) bool { return s.Totals.ExecutorsLost == 1 && s.Totals.Executors == 1 })
	require.Equal(t, 100, status.Totals.Done)
	require.Equal(t, "1", status.Executors[0].ID)
	require.Equal(t, driver.ExecutorStateRegistered, status.Executors[0].State)
	require.Equal(t, []string{"key"}, status.Executors[0].HeldKeys, "what it had told before holds")
	require.Empty(t, m.asksToKill(), "nobody has it ended")

	d.Release("key")
	n.cut()
	await(t, d, func(s driver.Status) bool {
		return s.Totals.ExecutorsLost == 2 && s.Totals.Executors == 1 && s.Executors[0].HeldKeyCount == 0
	})
	require.NoError(t, d.Stop(t.Context()))
	require.NoError(t, <-e.err)
}

func TestAnExecutorWhoseDriverIsGoneEnds(t *testing.T) {
	d, pass := networked(t, driver.Options{Manager: &manager{}})
	n := newNetwork(t, d.Addr())
	e := run(t, executorbackend.Options{ID: "1", Cores: 2}, n.address(), pass)
	await(t, d, func(s driver.Status) bool { return s.Totals.Executors == 1 })
	n.close()
	err := <-e.err
	require.Equal(t, executorbackend.ExitDisconnected, executorbackend.ExitCode(err), "%v", err)
	require.ErrorContains(t, err, "could not join again")
}

// register returns the registration message of an executor process.
func register(instance uint64) *wire.ExecutorMessage {
	return &wire.ExecutorMessage{Register: &wire.Register{ExecutorId: "1", Host: "h", Cores: 1, Version: wire.Version, Instance: instance}}
}

func TestAnExecutorReconnectsBeforeItsFirstStreamHasEnded(t *testing.T) {
	d := start(t, driver.Options{Manager: &manager{}})
	first := attachPuppet(t, d)
	first.send(register(7))
	first.recv()
	done := begin(t.Context(), d, driver.TaskSet{Function: "noop", Tasks: make([]driver.Task, 1), MaxFailures: 2})
	lost := first.launches(1)[0]

	other := attachPuppet(t, d)
	other.send(register(8))
	require.Contains(t, other.recv().GetRefused().GetReason(), "registered already", "another process of that id is not the same")
	again := attachPuppet(t, d)
	again.send(register(7))
	require.NotNil(t, again.recv().GetRegistered())
	require.ErrorContains(t, <-first.err, "came again")
	launch := again.launches(1)[0]
	require.NotEqual(t, lost.GetAttempt(), launch.GetAttempt())
	again.finish(launch, "")
	require.NoError(t, <-done)
	require.Equal(t, 1, d.Status().Totals.FailedAttempts, "it may have been the task that broke the connection")
	again.leave()
	first.leave()
}

func TestAnExecutorThatReconnectsIsStillDecommissioned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m})
		first := attachPuppet(t, d)
		first.send(register(7))
		first.recv()
		begin(t.Context(), d, naps(1, time.Hour))
		first.launches(1)
		d.Decommission([]string{"1"}, driver.DecommissionNotice{Reason: "its node goes", Deadline: time.Now().Add(time.Hour)})
		first.recv()
		first.leave()
		synctest.Wait()
		again := attachPuppet(t, d)
		again.send(register(7))
		message := again.recv()
		require.Equal(t, "its node goes", message.GetDecommission().GetReason())
		require.NotNil(t, message.GetStop())
		require.Empty(t, message.GetLaunches())
		again.leave()
		synctest.Wait()
		time.Sleep(time.Minute)
		require.Empty(t, m.asksToKill())
		d.ExecutorLost("1", driver.Loss{Reason: "ended"})
		require.Zero(t, d.Status().Totals.FailedAttempts)
	})
}

package driver_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// mover is a listener that moves the data of executors if moves is set.
type mover struct {
	moves bool
	asked chan string
}

func newMover() *mover { return &mover{moves: true, asked: make(chan string, 10)} }

func (m *mover) ExecutorAdded(driver.ExecutorInfo) {}

func (m *mover) ExecutorDecommissioned(e driver.ExecutorInfo) bool {
	m.asked <- e.ID
	return m.moves
}

func (m *mover) ExecutorLost(e driver.ExecutorInfo, _ string) { m.asked <- "lost " + e.ID }

func TestAnExecutorStopsAfterItsDataWasMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m})
		leaving := join(t, d, "1", "h", 1)
		one, two, other := newMover(), newMover(), newMover()
		other.moves = false
		for _, listener := range []*mover{one, two, other} {
			defer d.Listen(listener)()
		}
		d.Decommission([]string{"1"}, driver.DecommissionNotice{Reason: "its node goes"})
		message := leaving.recv()
		require.NotNil(t, message.GetDecommission())
		require.Nil(t, message.GetStop())
		for _, listener := range []*mover{one, two, other} {
			require.Equal(t, "1", <-listener.asked)
		}
		d.EndHandover("1", one)
		d.EndHandover("1", one)
		d.EndHandover("1", other)
		d.EndHandover("unheard of", two)
		time.Sleep(time.Minute)
		require.Equal(t, driver.ExecutorStateDecommissioning, d.Status().Executors[0].State)
		d.EndHandover("1", two)
		require.NotNil(t, leaving.recv().GetStop())
		d.EndHandover("1", two)
		leaving.leave()
		require.Equal(t, "lost 1", <-one.asked)
		require.Empty(t, m.asksToKill())
		require.Empty(t, one.asked, "it was asked once: the executor ran no tasks")
	})
}

// Data that tasks store after the first call of ExecutorDecommissioned is moved after the second
// call.
func TestDataThatTheLastTasksStoreIsMovedToo(t *testing.T) {
	for name, movedBefore := range map[string]bool{"first hand-over ends before the tasks": true, "first hand-over ends after the tasks": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &manager{}
				d := start(t, driver.Options{Manager: m})
				leaving := join(t, d, "1", "h", 1)
				listener := newMover()
				defer d.Listen(listener)()
				done := begin(t.Context(), d, driver.TaskSet{Tasks: make([]driver.Task, 1)})
				launch := leaving.launches(1)[0]
				leaving.send(&wire.ExecutorMessage{Decommission: &wire.Decommission{Reason: "signal"}})
				require.Equal(t, "1", <-listener.asked)
				require.NotNil(t, leaving.recv().GetDecommission())
				if movedBefore {
					d.EndHandover("1", listener)
					time.Sleep(time.Minute)
					require.Empty(t, listener.asked)
				}
				leaving.finish(launch, "r")
				require.NoError(t, <-done)
				if !movedBefore {
					time.Sleep(time.Minute)
					require.Empty(t, listener.asked)
					d.EndHandover("1", listener)
				}
				require.Equal(t, "1", <-listener.asked)
				synctest.Wait()
				require.Empty(t, m.asksToKill())
				d.EndHandover("1", listener)
				for leaving.recv().GetStop() == nil {
				}
				require.Equal(t, []string{"1"}, m.asksToKill(), "the manager replaces it")
			})
		})
	}
}

func TestAHandoverEndsAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m})
		leaving := join(t, d, "1", "h", 1)
		listener := newMover()
		defer d.Listen(listener)()
		d.Decommission([]string{"1"}, driver.DecommissionNotice{Reason: "is preempted", Deadline: time.Now().Add(15 * time.Second)})
		require.Equal(t, "1", <-listener.asked)
		time.Sleep(14 * time.Second)
		require.Empty(t, m.asksToKill())
		time.Sleep(time.Second)
		require.Equal(t, "lost 1", <-listener.asked)
		synctest.Wait() // the driver calls the listeners before it stops the executor
		require.Equal(t, []string{"1"}, m.asksToKill())
		d.EndHandover("1", listener)
		require.EqualError(t, <-leaving.err, "executor 1 was given up with its tasks: is preempted")
	})
}

func TestAHandoverEndsWithItsListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{Manager: &manager{}})
		leaving := join(t, d, "1", "h", 1)
		stop := d.Listen(newMover())
		d.Decommission([]string{"1"}, driver.DecommissionNotice{Reason: "its node goes"})
		require.Nil(t, leaving.recv().GetStop())
		late := newMover()
		stopLate := d.Listen(late)
		require.Equal(t, "1", <-late.asked)
		stop()
		synctest.Wait()
		require.Equal(t, driver.ExecutorStateDecommissioning, d.Status().Executors[0].State)
		stopLate()
		require.NotNil(t, leaving.recv().GetStop())
		last := newMover()
		defer d.Listen(last)()
		synctest.Wait()
		require.Empty(t, last.asked, "the executor was told to stop")
	})
}

// An executor that dynamic allocation removes is killed only after its data was moved.
func TestAnIdleExecutorIsKilledAfterItsDataWasMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m, Config: settings(t, map[string]string{
			"dynamicAllocation.enabled": "true", "dynamicAllocation.executorIdleTimeout": "10s"})})
		idle := attach(t, d, executorbackend.Options{ID: "1"})
		listener := newMover()
		defer d.Listen(listener)()
		synctest.Wait()
		requireSquares(t, t.Context(), d, 4)
		require.Equal(t, "1", <-listener.asked)
		time.Sleep(time.Minute)
		require.Empty(t, m.asksToKill())
		requests := m.asked()
		require.Zero(t, requests[len(requests)-1].Total(), "no other is wanted in its place")
		d.EndHandover("1", listener)
		<-idle.ended
		require.Equal(t, []string{"1"}, m.asksToKill())
	})
}

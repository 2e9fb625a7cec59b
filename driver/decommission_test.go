package driver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// naps returns a job of tasks that sleep.
func naps(tasks int, each time.Duration) driver.TaskSet {
	job := driver.TaskSet{Name: "naps", Function: "nap", MaxFailures: 1}
	for range tasks {
		job.Tasks = append(job.Tasks, driver.Task{Input: number(uint64(each))})
	}
	return job
}

// begin runs a job in another goroutine, and returns a channel for the job's error.
func begin(ctx context.Context, d *driver.Driver, job driver.TaskSet) <-chan error {
	done := make(chan error, 1)
	go func() { _, err := outcome(ctx, d, job); done <- err }()
	return done
}

func TestDecommissionedExecutorsFinishTheirTasksAndStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m})
		leaving := attach(t, d, executorbackend.Options{ID: "1"})
		idle := attach(t, d, executorbackend.Options{ID: "2"})
		synctest.Wait()
		d.Decommission([]string{"2"}, driver.DecommissionNotice{Reason: "its node is being decommissioned"})
		<-idle.ended
		require.NoError(t, idle.err, "one without tasks leaves at once")

		done := begin(t.Context(), d, naps(6, 10*time.Second))
		time.Sleep(5 * time.Second)
		attach(t, d, executorbackend.Options{ID: "3"})
		deadline := time.Now().Add(time.Hour)
		d.Decommission([]string{"1"}, driver.DecommissionNotice{Reason: "its node is being decommissioned", Deadline: deadline})
		time.Sleep(time.Second)
		status := d.Status()
		require.Equal(t, driver.ExecutorStateDecommissioning, status.Executors[0].State)
		require.Equal(t, "its node is being decommissioned", status.Executors[0].Decommission)
		require.True(t, deadline.Equal(*status.Executors[0].Deadline))
		require.Equal(t, 2, status.Executors[0].Running)
		require.Equal(t, 1, status.Totals.Decommissioning)
		require.Equal(t, 2, status.Totals.Cores, "those of executors that leave do not count")

		<-leaving.ended
		require.NoError(t, leaving.err)
		require.NoError(t, <-done)
		status = d.Status()
		require.Zero(t, status.Totals.FailedAttempts)
		require.Equal(t, 6, status.Totals.Done)
		require.Equal(t, []string{"3", "2", "1"}, ids(status.Executors))
		require.Equal(t, 2, status.Executors[2].Done, "no task was begun there after the notice")
		require.Equal(t, "left as it was told to: its node is being decommissioned", status.Executors[2].LossReason)
		require.Equal(t, driver.ExecutorStateLost, status.Executors[2].State)
		require.Empty(t, m.asksToKill(), "they left by themselves")
	})
}

func ids(executors []driver.ExecutorStatus) []string {
	ids := make([]string, len(executors))
	for i, e := range executors {
		ids[i] = e.ID
	}
	return ids
}

func TestTasksThatRunAtTheDeadlineRunAgainElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m})
		slow := join(t, d, "1", "h", 2)
		done := begin(t.Context(), d, driver.TaskSet{Tasks: make([]driver.Task, 2), MaxFailures: 1})
		slow.launches(2)
		d.Decommission([]string{"1"}, driver.DecommissionNotice{Reason: "is about to be preempted", Deadline: time.Now().Add(time.Hour)})
		notice := slow.recv().GetDecommission()
		require.Equal(t, "is about to be preempted", notice.GetReason())
		require.Equal(t, time.Now().Add(time.Hour).UnixMilli(), notice.GetDeadlineMillis())
		// The earlier deadline applies, whichever notice is first.
		d.Decommission([]string{"1"}, driver.DecommissionNotice{Reason: "is preempted", Deadline: time.Now().Add(15 * time.Second)})
		require.Equal(t, "is preempted", slow.recv().GetDecommission().GetReason())
		d.Decommission([]string{"1"}, driver.DecommissionNotice{Reason: "its node goes some day"})

		time.Sleep(14 * time.Second)
		require.Empty(t, m.asksToKill())
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"1"}, m.asksToKill())
		require.EqualError(t, <-slow.err, "executor 1 was given up with its tasks: is preempted")
		// The loss does not count as a failure, whatever the manager reports.
		d.ExecutorLost("1", driver.Loss{Reason: "was killed", CountsAsFailure: true})

		attach(t, d, executorbackend.Options{ID: "2"})
		require.Error(t, <-done, "the function is not there, so this job cannot succeed")
		require.Equal(t, 1, d.Status().Totals.FailedAttempts)
		slow.leave()
	})
}

func TestLossesOfDecommissionedExecutorsNeverCount(t *testing.T) {
	oom := driver.Loss{Reason: "was killed for its memory", CountsAsFailure: true}
	for name, lose := range map[string]func(d *driver.Driver, p *puppet){
		"manager says so":             func(d *driver.Driver, p *puppet) { d.ExecutorLost("1", oom) },
		"stream breaks":               func(d *driver.Driver, p *puppet) { p.leave() },
		"stream breaks, then manager": func(d *driver.Driver, p *puppet) { p.leave(); synctest.Wait(); d.ExecutorLost("1", oom) },
		"silent":                      func(d *driver.Driver, p *puppet) { time.Sleep(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &manager{}
				d := start(t, driver.Options{Manager: m})
				p := join(t, d, "1", "h", 1)
				done := begin(t.Context(), d, driver.TaskSet{Function: "noop", Tasks: make([]driver.Task, 1), MaxFailures: 1})
				p.launches(1)
				d.Decommission([]string{"1"}, driver.DecommissionNotice{Reason: "its node goes"})
				synctest.Wait()
				lose(d, p)
				time.Sleep(time.Minute)
				attach(t, d, executorbackend.Options{ID: "2"})
				require.NoError(t, <-done)
				require.Zero(t, d.Status().Totals.FailedAttempts)
				p.leave()
			})
		})
	}
}

func TestAnExecutorThatDoesNotStopIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m})
		p := join(t, d, "1", "h", 1)
		d.Decommission([]string{"1", "unheard of"}, driver.DecommissionNotice{Reason: "its node goes"})
		message := p.recv()
		require.NotNil(t, message.GetDecommission())
		require.Equal(t, "its node goes", message.GetStop().GetReason())
		time.Sleep(time.Minute)
		require.Equal(t, []string{"1"}, m.asksToKill())
		require.EqualError(t, <-p.err, "executor 1 did not leave though it was told to: its node goes")
	})
}

func TestDecommissionBeforeRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m})
		notice := driver.DecommissionNotice{Reason: "its node goes", Deadline: time.Now().Add(time.Minute)}
		d.Decommission([]string{"1", "2", "3"}, notice)
		d.ExecutorLost("3", driver.Loss{Reason: "was preempted"})
		begin(t.Context(), d, squares(3))
		p := attachPuppet(t, d)
		p.send(&wire.ExecutorMessage{Register: &wire.Register{ExecutorId: "1", Host: "h", Cores: 4, Version: wire.Version}})
		message := p.recv()
		require.NotNil(t, message.GetRegistered())
		require.NotNil(t, message.GetStop())
		require.Empty(t, message.GetLaunches())
		p.leave()
		time.Sleep(2 * time.Minute)
		require.Equal(t, []string{"2"}, m.asksToKill(), "it may come yet, too late")
	})
}

func TestDecommissionOverTheNetwork(t *testing.T) {
	d, pass := networked(t, driver.Options{Manager: &manager{}})
	first := run(t, executorbackend.Options{ID: "1", Cores: 2}, d.Addr(), pass)
	await(t, d, func(s driver.Status) bool { return s.Totals.Executors == 1 })
	done := begin(t.Context(), d, naps(200, time.Millisecond))
	await(t, d, func(s driver.Status) bool { return s.Totals.Done > 20 })
	d.Decommission([]string{"1"}, driver.DecommissionNotice{Reason: "its node goes"})
	require.NoError(t, <-first.err)
	run(t, executorbackend.Options{ID: "2", Cores: 2}, d.Addr(), pass)
	require.NoError(t, <-done)
	require.Zero(t, d.Status().Totals.FailedAttempts)
	attempts := 0
	for _, e := range d.Status().Executors {
		attempts += e.Done
	}
	require.Equal(t, 200, attempts, "no task was done twice")
}

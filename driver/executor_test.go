package driver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestRegistrationRefused(t *testing.T) {
	for name, test := range map[string]struct {
		register *wire.Register
		reason   string
	}{
		"duplicate":       {&wire.Register{ExecutorId: "1", Host: "other", Cores: 1, Version: wire.Version}, "registered already, on h"},
		"unknown profile": {&wire.Register{ExecutorId: "2", Host: "h", Cores: 1, ResourceProfile: 3, Version: wire.Version}, "resource profile 3 is unknown"},
		"other version":   {&wire.Register{ExecutorId: "2", Host: "h", Cores: 1}, "version 0 of the protocol"},
		"no cores":        {&wire.Register{ExecutorId: "2", Host: "h", Version: wire.Version}, "0 cores"},
		"no host":         {&wire.Register{ExecutorId: "2", Cores: 1, Version: wire.Version}, "no host"},
		"no id":           {&wire.Register{Host: "h", Cores: 1, Version: wire.Version}, "no id"},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, driver.Options{})
			first := join(t, d, "1", "h", 1)
			p := attachPuppet(t, d)
			p.send(&wire.ExecutorMessage{Register: test.register})
			require.Contains(t, p.recv().GetRefused().GetReason(), test.reason)
			_, err := p.stream.Recv()
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, <-p.err)
			require.Equal(t, 1, d.Status().Totals.Executors)
			first.leave()
		})
	}
}

func TestFirstMessageMustRegister(t *testing.T) {
	d := start(t, driver.Options{})
	p := attachPuppet(t, d)
	p.send(&wire.ExecutorMessage{Heartbeat: &wire.Heartbeat{}})
	require.ErrorContains(t, <-p.err, "first message must register")
}

func TestIDIsFreeAgainAfterItsExecutorIsLost(t *testing.T) {
	d := start(t, driver.Options{})
	join(t, d, "1", "h", 1).leave()
	await(t, d, func(s driver.Status) bool { return s.Totals.ExecutorsLost == 1 })
	join(t, d, "1", "h", 1).leave()
}

func TestTasksOfALostExecutorRunElsewhere(t *testing.T) {
	d := start(t, driver.Options{})
	lost := join(t, d, "1", "h", 3)
	done := make(chan error, 1)
	go func() {
		_, err := outcome(t.Context(), d, squares(20))
		done <- err
	}()
	lost.launches(3)
	attach(t, d, executorbackend.Options{ID: "2"})
	lost.leave()
	require.NoError(t, <-done)
	status := d.Status()
	require.Equal(t, 20, status.Totals.Done)
	require.Equal(t, 1, status.Totals.ExecutorsLost)
	require.Equal(t, driver.ExecutorStateLost, status.Executors[1].State)
	require.Contains(t, status.Executors[1].LossReason, "broke its connection")
	require.NotNil(t, status.Executors[1].Lost)
}

func TestManagerTakesAnExecutorAway(t *testing.T) {
	d := start(t, driver.Options{Manager: &manager{}})
	p := join(t, d, "1", "h", 1)
	done := make(chan error, 1)
	go func() { _, err := outcome(t.Context(), d, squares(3)); done <- err }()
	p.launches(1)
	d.ExecutorLost("1", driver.Loss{Reason: "was preempted"})
	d.ExecutorLost("unheard of", driver.Loss{Reason: "was preempted"})
	require.EqualError(t, <-p.err, "executor 1 was preempted")
	attach(t, d, executorbackend.Options{ID: "2"})
	require.NoError(t, <-done)
	require.Zero(t, d.Status().Totals.FailedAttempts)
}

// loseExecutors runs a job of one task and loses each executor on which the task is launched. It
// returns the number of executors that were lost until the job ended.
func loseExecutors(t *testing.T, d *driver.Driver, lose func(p *puppet, id string)) (executors int, err error) {
	done := make(chan error, 1)
	go func() {
		_, err := outcome(t.Context(), d, driver.TaskSet{Name: "oom", Tasks: make([]driver.Task, 1)})
		done <- err
	}()
	for {
		synctest.Wait()
		select {
		case err := <-done:
			return executors, err
		default:
		}
		executors++
		require.Less(t, executors, 100, "the job does not end")
		p := join(t, d, fmt.Sprint(executors), "h", 1)
		synctest.Wait()
		select {
		case err := <-done: // the job has ended because of a late message about an earlier executor
			p.leave()
			return executors - 1, err
		default:
		}
		p.launches(1)
		lose(p, fmt.Sprint(executors))
		time.Sleep(2 * time.Second) // the time that a new executor takes to register
	}
}

func TestTaskThatKillsItsExecutorsEndsItsJob(t *testing.T) {
	oom := driver.Loss{Reason: "was killed for its memory", CountsAsFailure: true}
	for name, test := range map[string]struct {
		manager   driver.ClusterManager
		lose      func(d *driver.Driver, p *puppet, id string)
		executors []int // smallest and largest number of executors that may be lost
		message   string
	}{
		"stream breaks, no manager": {nil, func(_ *driver.Driver, p *puppet, _ string) { p.leave() },
			[]int{4, 4}, "the executor broke its connection to the driver"},
		"stream breaks, manager silent": {&manager{}, func(_ *driver.Driver, p *puppet, _ string) { p.leave() },
			[]int{4, 10}, "the executor broke its connection to the driver"},
		"manager speaks first": {&manager{}, func(d *driver.Driver, p *puppet, id string) { d.ExecutorLost(id, oom) },
			[]int{4, 4}, "the executor was killed for its memory"},
		"manager speaks a second later": {&manager{}, func(d *driver.Driver, p *puppet, id string) {
			p.leave()
			time.Sleep(time.Second)
			d.ExecutorLost(id, oom)
		}, []int{4, 4}, "the executor was killed for its memory"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := start(t, driver.Options{Manager: test.manager})
				executors, err := loseExecutors(t, d, func(p *puppet, id string) { test.lose(d, p, id) })
				var failure *driver.TaskError
				require.ErrorAs(t, err, &failure)
				require.Equal(t, 4, failure.Failures)
				require.Equal(t, test.message, failure.Message)
				require.Equal(t, "h", failure.Host)
				require.Contains(t, err.Error(), `task 0 of "oom" failed 4 times, last on executor `)
				require.GreaterOrEqual(t, executors, test.executors[0])
				require.LessOrEqual(t, executors, test.executors[1])
				require.Equal(t, 4, d.Status().Jobs[0].FailedAttempts)
			})
		})
	}
}

func TestLossesThatDoNotCountFailNoJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{Manager: &manager{}})
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { _, err := outcome(ctx, d, driver.TaskSet{Tasks: make([]driver.Task, 1)}); done <- err }()
		for i := range 20 {
			p := join(t, d, fmt.Sprint(i), "h", 1)
			p.launches(1)
			p.leave()
			synctest.Wait()
			time.Sleep(time.Second)
			d.ExecutorLost(fmt.Sprint(i), driver.Loss{Reason: "was preempted"})
		}
		time.Sleep(time.Hour)
		require.Zero(t, d.Status().Totals.FailedAttempts)
		require.Equal(t, "was preempted", d.Status().Executors[0].LossReason)
		cancel(errTest)
		require.ErrorIs(t, <-done, errTest)
	})
}

func TestAnExecutorWhoseLossIsNotExplainedIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m})
		busy, idle, explained := join(t, d, "1", "h", 1), join(t, d, "2", "h", 1), join(t, d, "3", "h", 1)
		done := make(chan error, 1)
		go func() {
			_, err := outcome(t.Context(), d, driver.TaskSet{Tasks: make([]driver.Task, 1), MaxFailures: 1})
			done <- err
		}()
		synctest.Wait()
		busy.leave()
		idle.leave()
		explained.leave()
		synctest.Wait()
		d.ExecutorLost("3", driver.Loss{Reason: "was preempted"})
		require.Empty(t, m.asksToKill())
		time.Sleep(time.Minute)
		require.ElementsMatch(t, []string{"1", "2"}, m.asksToKill())
		d.ExecutorLost("1", driver.Loss{Reason: "was ended by the driver"})
		require.ErrorContains(t, <-done, "broke its connection")
	})
}

func TestLossAndFailuresAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{Manager: &manager{}})
		done := make(chan error, 1)
		go func() {
			_, err := outcome(t.Context(), d, driver.TaskSet{Name: "j", Tasks: make([]driver.Task, 1)})
			done <- err
		}()
		fail := func(p *puppet, n int) {
			for range n {
				launch := p.launches(1)[0]
				p.send(&wire.ExecutorMessage{Updates: []*wire.TaskUpdate{{Attempt: launch.GetAttempt(),
					State: wire.TaskState_TASK_STATE_FAILED, Failure: &wire.Failure{Message: "wrong"}}}})
			}
		}
		p := join(t, d, "1", "h", 1)
		fail(p, 2)
		p.launches(1)
		p.leave()
		time.Sleep(time.Minute) // the manager does not report the reason in time
		p = join(t, d, "2", "h", 1)
		fail(p, 1)
		require.EqualError(t, <-done, `task 0 of "j" failed 4 times, last on executor 2 (h): wrong`)
		p.leave()
	})
}

func TestSilentExecutorIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m})
		silent, lively := join(t, d, "1", "h", 1), join(t, d, "2", "h", 1)
		done := make(chan error, 1)
		go func() { _, err := outcome(t.Context(), d, driver.TaskSet{Tasks: make([]driver.Task, 2)}); done <- err }()
		silent.launches(1)
		launch := lively.launches(1)[0]
		began := time.Now()
		go func() {
			for range 40 {
				time.Sleep(10 * time.Second)
				lively.send(&wire.ExecutorMessage{Heartbeat: &wire.Heartbeat{Progress: []*wire.TaskProgress{{Attempt: launch.GetAttempt()}}}})
			}
			lively.finish(launch, "")
			lively.finish(lively.launches(1)[0], "")
		}()
		err := <-silent.err
		require.EqualError(t, err, "executor 1 said nothing for 2m0s")
		require.InDelta(t, 2*time.Minute, time.Since(began), float64(30*time.Second))
		_, err = silent.stream.Recv()
		require.ErrorIs(t, err, io.EOF)
		synctest.Wait()
		require.Equal(t, []string{"1"}, m.asksToKill())
		// Late messages of the executor and of the manager have no effect.
		require.Error(t, silent.stream.Send(&wire.ExecutorMessage{Heartbeat: &wire.Heartbeat{}}))
		d.ExecutorLost("1", driver.Loss{Reason: "was ended by the driver"})
		require.NoError(t, <-done)
		require.Equal(t, 1, d.Status().Totals.FailedAttempts)
		lively.leave()
		silent.leave()
	})
}

func TestAnIdleExecutorSendsHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		p := join(t, d, "1", "h", 1)
		for i := range uint64(31) {
			time.Sleep(10 * time.Second)
			p.send(&wire.ExecutorMessage{Heartbeat: &wire.Heartbeat{ResidentBytes: i}})
		}
		p.send(&wire.ExecutorMessage{}) // an empty message counts as a heartbeat, and does not change the reported memory
		synctest.Wait()
		status := d.Status().Executors[0]
		require.Equal(t, driver.ExecutorStateRegistered, status.State)
		require.EqualValues(t, 30, status.ResidentBytes)
		require.WithinDuration(t, time.Now(), status.LastHeard, 0)
		began := time.Now()
		require.ErrorContains(t, <-p.err, "executor 1 said nothing for 2m")
		require.InDelta(t, 2*time.Minute, time.Since(began), float64(30*time.Second))
		p.leave()
	})
}

func TestStatusShowsWhatExecutorsReport(t *testing.T) {
	d := start(t, driver.Options{ApplicationID: "application_1_2", User: "ann"})
	p := attachPuppet(t, d)
	p.send(&wire.ExecutorMessage{Register: &wire.Register{ExecutorId: "10", Host: "h", Cores: 4, Version: wire.Version, LogUrls: map[string]string{"stderr": "http://x"}}})
	p.recv()
	q := join(t, d, "9", "h", 1)
	go func() { _, _ = outcome(t.Context(), d, driver.TaskSet{Name: "j", Tasks: make([]driver.Task, 7)}) }()
	p.launches(4)
	p.send(&wire.ExecutorMessage{Heartbeat: &wire.Heartbeat{ResidentBytes: 77}})
	status := await(t, d, func(s driver.Status) bool { return s.Totals.Running == 5 && s.Executors[1].ResidentBytes == 77 })
	require.Equal(t, "application_1_2", status.ApplicationID)
	require.Equal(t, "ann", status.User)
	require.Equal(t, []string{"9", "10"}, []string{status.Executors[0].ID, status.Executors[1].ID})
	ten := status.Executors[1]
	require.Equal(t, 4, ten.Running)
	require.Equal(t, map[string]string{"stderr": "http://x"}, ten.LogURLs)
	require.Equal(t, driver.ExecutorStateRegistered, ten.State)
	require.Equal(t, 2, status.Totals.Waiting)
	require.Equal(t, driver.JobStatus{ID: 1, Name: "j", State: driver.JobStateRunning, Total: 7, Running: 5,
		Locality: driver.Locality{NoPref: 5}, Submitted: status.Jobs[0].Submitted}, status.Jobs[0])
	p.leave()
	q.leave()
}

func TestHistoryIsBounded(t *testing.T) {
	d := start(t, driver.Options{})
	for i := range 150 {
		join(t, d, fmt.Sprint(i), "h", 1).leave()
		_, err := outcome(t.Context(), d, driver.TaskSet{Name: fmt.Sprint(i)})
		require.NoError(t, err)
	}
	status := await(t, d, func(s driver.Status) bool { return s.Totals.ExecutorsLost == 150 })
	require.Len(t, status.Executors, 100)
	require.Len(t, status.Jobs, 100)
	require.Equal(t, "149", status.Jobs[99].Name)
}

func TestAFailedSendLosesTheExecutor(t *testing.T) {
	d := start(t, driver.Options{})
	broken := &brokenStream{registered: make(chan struct{}), release: make(chan struct{})}
	err := d.Attach(t.Context(), broken)
	require.ErrorIs(t, err, errTest)
	await(t, d, func(s driver.Status) bool { return s.Totals.ExecutorsLost == 1 })
	close(broken.release)
}

// brokenStream is a stream that registers, and then fails to send.
type brokenStream struct {
	registered, release chan struct{}
	first               bool
}

func (b *brokenStream) Send(*wire.DriverMessage) error { return errTest }

func (b *brokenStream) Recv() (*wire.ExecutorMessage, error) {
	if !b.first {
		b.first = true
		return &wire.ExecutorMessage{Register: &wire.Register{ExecutorId: "1", Host: "h", Cores: 1, Version: wire.Version}}, nil
	}
	<-b.release
	return nil, errors.New("over")
}

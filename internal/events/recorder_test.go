package events_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// counter counts the events and rows that it consumes.
type counter struct {
	mu            sync.Mutex
	events        int
	ended, failed int
	omitted       int
}

func (c *counter) Consume(b *events.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events += len(b.Events)
	for _, a := range b.Attempts {
		switch a.Outcome {
		case events.OutcomeRunning:
		case events.OutcomeFailed:
			c.failed++
		default:
			c.ended++
		}
	}
	for _, o := range b.Omitted {
		c.omitted += o.Ended
	}
}

func TestEverythingArrivesBeforeClose(t *testing.T) {
	c := &counter{}
	r := events.NewRecorder(events.Limits{}, c)
	var recording sync.WaitGroup
	for range 4 {
		recording.Go(func() {
			for range 1000 {
				r.Record(&events.StepStarted{Time: at(0), Step: "a"})
			}
		})
	}
	recording.Wait()
	r.Close()
	r.Close()
	r.Record(&events.StepStarted{})
	require.Equal(t, 4000, c.events)
	require.Len(t, r.Snapshot().Steps, 4000)
}

func TestNilRecorderRecordsNothing(t *testing.T) {
	var r *events.Recorder
	a := attempt(1, 1, events.OutcomeSucceeded)
	r.Record(&events.StepStarted{})
	require.False(t, r.Launched(&a))
	r.Ended(&a, false)
	r.Measured(events.Measurement{})
	r.Memory(events.MemorySample{})
	require.Nil(t, r.Snapshot())
	r.Close()
}

func TestManyAttemptsAreSampled(t *testing.T) {
	const tasks = 5 * events.MaxRows
	c := &counter{}
	r := events.NewRecorder(events.Limits{}, c)
	for _, e := range append(submitted(1, tasks), registered(1, "1")) {
		r.Record(e)
	}
	long := 0
	for task := range uint32(tasks) {
		a := attempt(1, task, events.OutcomeRunning)
		a.Start += events.Micros(task) * 2_000_000 / tasks // all attempts start within two seconds
		hasRow := r.Launched(&a)
		a.Outcome = events.OutcomeSucceeded
		switch {
		case task%1000 == 7:
			a.Outcome = events.OutcomeFailed
		case task%1000 == 8:
			a.End = a.Start + 1_500_000
			long++
		default:
			a.End = a.Start + 1000
		}
		r.Ended(&a, hasRow)
	}
	r.Close()
	s := r.Snapshot()
	require.Equal(t, tasks/1000, c.failed, "all failures have rows")
	require.Equal(t, tasks-tasks/1000, c.ended+c.omitted)
	require.Less(t, c.ended, 2*events.MaxRows+2*long)
	require.Greater(t, c.ended, events.MaxRows)
	counts := s.Job(1).Counts
	require.Equal(t, tasks-tasks/1000, counts.Done)
	require.Equal(t, c.omitted, counts.Omitted)
	require.Zero(t, counts.Running)
	require.Equal(t, tasks, counts.Sums.Localities[events.LocalityNode])
	sum := 0
	for _, n := range s.Job(1).Sets[0].Took {
		sum += n
	}
	require.Equal(t, counts.Done, sum)
	longRows := 0
	for a := range s.Attempts() {
		if a.Took() >= events.LongAttempt {
			longRows++
		}
	}
	require.Equal(t, long, longRows, "all long attempts have rows")
}

// BenchmarkTask measures the cost of recording a task attempt in the driver's event loop, at
// rates below and above events.MaxRows attempts per second.
func BenchmarkTask(b *testing.B) {
	for _, rate := range []struct {
		name      string
		perSecond int
	}{{"rows", 10_000}, {"sampled", 200_000}} {
		b.Run(rate.name, func(b *testing.B) {
			consumed := make(passes, 1)
			r := events.NewRecorder(events.LiveLimits, consumed)
			defer r.Close()
			a := attempt(1, 0, events.OutcomeSucceeded)
			gap := events.Micros(time.Second.Microseconds()) / events.Micros(rate.perSecond)
			rows := 0
			for b.Loop() {
				a.Task++
				a.Start += gap
				a.End = a.Start + 1000
				a.Outcome = events.OutcomeRunning
				hasRow := r.Launched(&a)
				a.Outcome = events.OutcomeSucceeded
				r.Ended(&a, hasRow)
				if hasRow {
					rows += 2
				}
				if rows >= 4096 { // the batch is passed to the consumers, which is not part of the measurement
					b.StopTimer()
					<-consumed
					rows = 0
					b.StartTimer()
				}
			}
		})
	}
}

// passes receives an element when a batch is consumed.
type passes chan struct{}

func (p passes) Consume(*events.Batch) {
	select {
	case p <- struct{}{}:
	default:
	}
}

func TestNewestHasAllThatWasRecorded(t *testing.T) {
	r := events.NewRecorder(events.Limits{})
	for i := range 50 {
		require.Len(t, r.Newest().Steps, i)
		r.Record(&events.StepStarted{Time: at(0), Step: "a"})
	}
	r.Close()
	require.Len(t, r.Newest().Steps, 50)
	require.Nil(t, (*events.Recorder)(nil).Newest())
}

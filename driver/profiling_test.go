package driver_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// executorsIn returns the number of samples of each executor in a profile, and the profile's
// comments.
func executorsIn(t *testing.T, encoded []byte) (samples map[string]int, comments []string) {
	t.Helper()
	p, err := profile.ParseData(encoded)
	require.NoError(t, err)
	samples = map[string]int{}
	for _, sample := range p.Sample {
		for _, id := range sample.Label["executor"] {
			samples[id]++
		}
	}
	return samples, p.Comments
}

func TestProfilesOfExecutorsAreMerged(t *testing.T) {
	d := start(t, driver.Options{})
	request := profiling.Request{Type: profiling.Goroutine, Duration: time.Second}
	_, err := d.TakeProfile(t.Context(), request)
	require.EqualError(t, err, "no executor is registered")

	attach(t, d, executorbackend.Options{ID: "1", Cores: 1})
	attach(t, d, executorbackend.Options{ID: "2", Cores: 1})
	await(t, d, func(s driver.Status) bool { return s.Totals.Executors == 2 })
	merged, err := d.TakeProfile(t.Context(), request)
	require.NoError(t, err)
	samples, comments := executorsIn(t, merged)
	require.NotZero(t, samples["1"])
	require.NotZero(t, samples["2"])
	require.Equal(t, []string{"executor 1", "executor 2"}, comments)

	one := request
	one.Executor = "2"
	merged, err = d.TakeProfile(t.Context(), one)
	require.NoError(t, err)
	samples, _ = executorsIn(t, merged)
	require.Len(t, samples, 1)

	one.Executor = "3"
	_, err = d.TakeProfile(t.Context(), one)
	require.EqualError(t, err, `executor "3" is not registered`)
	_, err = d.TakeProfile(t.Context(), profiling.Request{Type: profiling.Heap, Duration: time.Second, Job: 7})
	require.EqualError(t, err, "no executor runs a task of job 7")
	ofJob := request
	napping := make(chan error, 1)
	go func() {
		_, err := outcome(t.Context(), d, driver.TaskSet{Name: "naps", Function: "nap", Tasks: []driver.Task{{Input: number(uint64(2 * time.Second))}}})
		napping <- err
	}()
	await(t, d, func(s driver.Status) bool { return s.Totals.Running == 1 })
	status := d.Status()
	ofJob.Job = status.Jobs[len(status.Jobs)-1].ID
	merged, err = d.TakeProfile(t.Context(), ofJob)
	require.NoError(t, err)
	samples, _ = executorsIn(t, merged)
	require.Len(t, samples, 1)
	require.NoError(t, <-napping)
	_, err = d.TakeProfile(t.Context(), profiling.Request{Type: "trace", Duration: time.Second})
	require.ErrorContains(t, err, `"trace" is no type of profile`)

	own, err := d.TakeProfile(t.Context(), profiling.Request{Type: profiling.Heap, Duration: time.Second, Driver: true})
	require.NoError(t, err)
	samples, comments = executorsIn(t, own)
	require.Empty(t, samples)
	require.Equal(t, []string{"the driver"}, comments)
}

func TestAnExecutorThatIsLostIsLeftOutOfAProfile(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1", Cores: 1})
	p := join(t, d, "2", "host2", 1)
	await(t, d, func(s driver.Status) bool { return s.Totals.Executors == 2 })
	type result struct {
		profile []byte
		err     error
	}
	taken := make(chan result, 1)
	ask := func(r profiling.Request) {
		go func() {
			encoded, err := d.TakeProfile(context.Background(), r)
			taken <- result{encoded, err}
		}()
	}
	ask(profiling.Request{Type: profiling.Heap, Duration: time.Second})
	orders := p.recv().GetProfiles()
	require.Len(t, orders, 1)
	require.Equal(t, profiling.Heap, orders[0].GetType())
	p.send(&wire.ExecutorMessage{Profiles: []*wire.Profile{{Id: orders[0].GetId() + 100}, {Id: orders[0].GetId(), Error: "it is busy"}}})
	got := <-taken
	require.NoError(t, got.err)
	_, comments := executorsIn(t, got.profile)
	require.Equal(t, []string{"executor 1", "without executor 2: it is busy"}, comments)

	ask(profiling.Request{Type: profiling.Heap, Duration: time.Second, Executor: "2"})
	require.Len(t, p.recv().GetProfiles(), 1)
	p.leave()
	got = <-taken
	require.ErrorContains(t, got.err, "without executor 2: it ")
}

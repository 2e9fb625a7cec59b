package driver_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ = func() int {
	function.Register("square", func(_ context.Context, call function.Call) ([]byte, error) {
		n := binary.BigEndian.Uint64(call.Input)
		return binary.BigEndian.AppendUint64(nil, n*n), nil
	})
	function.Register("noop", func(context.Context, function.Call) ([]byte, error) { return nil, nil })
	return 0
}()

func TestLocal(t *testing.T) {
	d, err := driver.New(driver.Options{ApplicationID: "a"})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() {
		served <- d.AttachLocal(t.Context(), func(ctx context.Context, s wire.ExecutorSide) error {
			return executorbackend.Serve(ctx, executorbackend.Options{ID: "1", Host: "h", Cores: 2}, s)
		})
	}()
	job := driver.Job{Name: "square", Function: "square"}
	for i := range 100 {
		job.Tasks = append(job.Tasks, driver.TaskSpec{Input: binary.BigEndian.AppendUint64(nil, uint64(i))})
	}
	n := 0
	for result, err := range d.Run(t.Context(), job) {
		require.NoError(t, err)
		require.Equal(t, uint64(result.Index*result.Index), binary.BigEndian.Uint64(result.Value))
		n++
	}
	require.Equal(t, 100, n)
	require.NoError(t, d.Stop(t.Context()))
	require.NoError(t, <-served)
}

func BenchmarkNoop(b *testing.B) {
	id, err := identity.New()
	require.NoError(b, err)
	d, err := driver.New(driver.Options{ApplicationID: "a", Identity: id, BindAddress: "127.0.0.1:0"})
	require.NoError(b, err)
	served := make(chan error, 2)
	for _, e := range []string{"1", "2"} {
		go func() {
			served <- executorbackend.Run(b.Context(), executorbackend.Options{ID: e, Host: "h", Cores: 2}, d.Addr(), id.Pass())
		}()
	}
	run := func(n int) {
		for _, err := range d.Run(b.Context(), driver.Job{Name: "noop", Function: "noop", Tasks: make([]driver.TaskSpec, n)}) {
			require.NoError(b, err)
		}
	}
	run(100)
	b.Run("tasks", func(b *testing.B) {
		for b.Loop() {
			run(20000)
		}
		b.ReportMetric(float64(b.N)*20000/b.Elapsed().Seconds(), "tasks/s")
	})
	b.Run("roundtrip", func(b *testing.B) {
		for b.Loop() {
			run(1)
		}
	})
	require.NoError(b, d.Stop(b.Context()))
	require.NoError(b, <-served)
	require.NoError(b, <-served)
}

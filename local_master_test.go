package bobbin

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatDoesNotFitIntoALocalMasterIsRefused(t *testing.T) {
	set := map[string]string{"master": "local[2]", "executor.resource.gpu.amount": "1"}
	require.NoError(t, underLocally(t, set, func(ctx context.Context, session *Session) error {
		for _, test := range []struct {
			options []Option
			text    string
		}{
			{[]Option{CPUs(3)}, "each task takes 3 cores, and master local[2] has 2"},
			{[]Option{Resource("gpu", 2)}, "each task takes 2 gpu, and master local[2] has 1"},
			{[]Option{Resource("fpga", 0.5)}, "each task takes 0.5 fpga, and master local[2] has 0"},
		} {
			_, err := nothing.Run(ctx, session, []int{1}, test.options...)
			require.ErrorContains(t, err, test.text)
		}
		_, err := nothing.Run(ctx, session, []int{1, 2, 3}, CPUs(2), Resource("gpu", 1))
		return err
	}))
}

// TestALocalMasterKeepsItsExecutor has settings that would take the one executor
// away, or wait for another one.
func TestALocalMasterKeepsItsExecutor(t *testing.T) {
	set := map[string]string{
		"master": "local[2,3]", "dynamicAllocation.enabled": "true", "dynamicAllocation.executorIdleTimeout": "1ms",
		"excludeOnFailure.enabled": "true", "speculation": "true",
	}
	require.NoError(t, underLocally(t, set, func(ctx context.Context, session *Session) error {
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		for range 3 {
			if _, err := failsTwice.Run(limited, session, []int{1}); err != nil {
				return err
			}
			status := session.app.Driver.Status()
			require.Len(t, status.Executors, 1)
			require.Equal(t, "registered", string(status.Executors[0].State))
		}
		return nil
	}))
}

var failsTwice = Func("test.failsTwice", func(task *Task, _ int) (int, error) {
	if task.Attempt() < 2 {
		return 0, context.DeadlineExceeded
	}
	return 0, nil
})

// BenchmarkLocalStart is from nothing to the result of a first task and to the
// end: what a program on a local master takes beside its own work.
func BenchmarkLocalStart(b *testing.B) {
	for b.Loop() {
		err := RunLocal(b.Context(), "local[2]", func(ctx context.Context) error {
			session, err := NewSession(ctx)
			if err != nil {
				return err
			}
			defer session.Close()
			_, err = nothing.Run(ctx, session, []int{1})
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

package bobbin

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/role"
)

// devices returns the address of the task's GPU.
var devices = Func("test.devices", func(task *Task, _ int) (string, error) { return task.Resources()["gpu"][0], nil })

// withSettings runs a driver function with settings. The setting master must be a local master.
func withSettings(t *testing.T, set map[string]string, run func(ctx context.Context, session *Session) error) error {
	t.Helper()
	settings, err := config.FromMap(set)
	require.NoError(t, err)
	return role.RunLocal(t.Context(), settings, func(ctx context.Context) error {
		session, err := NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		return run(ctx, session)
	})
}

func TestLocalMasterHasResourcesFromSettings(t *testing.T) {
	set := map[string]string{"master": "local[4]", "executor.resource.gpu.amount": "1", "task.resource.gpu.amount": "0.5"}
	require.NoError(t, withSettings(t, set, func(ctx context.Context, session *Session) error {
		got, err := devices.Run(ctx, session, []int{1, 2, 3})
		require.Equal(t, []string{"0", "0", "0"}, got)
		return err
	}))
	set["executor.resource.gpu.discoveryScript"] = filepath.Join(t.TempDir(), "none")
	require.ErrorIs(t, withSettings(t, set, nil), os.ErrNotExist)
}

func TestLocalMasterReadsPools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pools.xml")
	set := map[string]string{"master": "local[2]", "scheduler.mode": "FAIR", "scheduler.allocation.file": file}
	require.ErrorIs(t, withSettings(t, set, nil), os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte(`<allocations><pool name="urgent"><weight>9</weight></pool></allocations>`), 0o600))
	require.NoError(t, withSettings(t, set, func(ctx context.Context, session *Session) error {
		for _, run := range []struct {
			ctx     context.Context
			options []Option
			pool    string
		}{
			{ctx, nil, "default"},
			{InPool(ctx, "reports"), nil, "reports"},
			{InPool(ctx, "reports"), []Option{Pool("urgent")}, "urgent"},
		} {
			if _, err := nothing.Run(run.ctx, session, []int{1}, run.options...); err != nil {
				return err
			}
			jobs := session.Jobs()
			require.Equal(t, run.pool, jobs[len(jobs)-1].Pool)
		}
		return nil
	}))
}

var nothing = Func("test.nothing", func(*Task, int) (int, error) { return 0, nil })

func TestTasksTooLargeForLocalMasterFail(t *testing.T) {
	set := map[string]string{"master": "local[2]", "executor.resource.gpu.amount": "1"}
	require.NoError(t, withSettings(t, set, func(ctx context.Context, session *Session) error {
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

// TestLocalMasterKeepsItsExecutor uses settings that, on a cluster, would make the driver stop the
// only executor or wait for more executors.
func TestLocalMasterKeepsItsExecutor(t *testing.T) {
	set := map[string]string{
		"master": "local[2,3]", "dynamicAllocation.enabled": "true", "dynamicAllocation.executorIdleTimeout": "1ms",
		"excludeOnFailure.enabled": "true", "speculation": "true",
	}
	require.NoError(t, withSettings(t, set, func(ctx context.Context, session *Session) error {
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

// BenchmarkLocalStart measures the run time of a program with one empty task on a local master.
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

var copies = Func("test.copies", func(task *Task, path string) (int64, error) {
	// Bytes that are read with a context derived from the task's count as the task's.
	derived, cancel := context.WithCancel(task)
	defer cancel()
	in, err := task.Files().Open(derived, path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }()
	out, err := task.Files().Create(task, path+".copy")
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, in)
	return n, errors.Join(err, out.Close())
})

func TestTaskMetrics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, 100_000), 0o600))
	require.NoError(t, RunLocal(t.Context(), "local[2]", func(ctx context.Context) error {
		session, err := NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		copied, err := copies.Run(ctx, session, []string{path})
		require.NoError(t, err)
		require.Equal(t, []int64{100_000}, copied)
		m := session.app.Driver.Status().Jobs[0].Metrics
		require.Equal(t, uint64(100_000), m.BytesRead)
		require.Equal(t, uint64(100_000), m.BytesWritten)
		require.Positive(t, m.DecodeNanos)
		require.Positive(t, m.EncodeNanos)
		require.Positive(t, m.RunNanos)
		require.Positive(t, m.ResultBytes)
		return nil
	}))
}

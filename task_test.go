package bobbin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
)

var (
	met   atomic.Int64
	meets = bobbin.Func("test.meets", func(task *bobbin.Task, n int) (int, error) {
		met.Add(int64(n))
		if err := task.Barrier(task); err != nil {
			return 0, err
		}
		sum := met.Load()
		return int(sum), task.Barrier(task)
	})
	peers = bobbin.Func("test.peers", func(task *bobbin.Task, _ int) (int, error) {
		for _, peer := range task.BarrierTasks() {
			if peer.ExecutorID != task.ExecutorID() || peer.Host != task.Host() {
				return 0, fmt.Errorf("a peer is at %v", peer)
			}
		}
		return len(task.BarrierTasks()), nil
	})
	alone   = bobbin.Func("test.alone", func(task *bobbin.Task, _ int) (int, error) { return 0, task.Barrier(task) })
	commits = bobbin.Func("test.commits", func(task *bobbin.Task, path string) (bool, error) {
		return true, task.CommitOutput(func() error { return os.WriteFile(path, []byte("out"), 0o600) })
	})
	addresses    = bobbin.Func("test.addresses", func(task *bobbin.Task, _ int) (map[string][]string, error) { return task.Resources(), nil })
	reasons      = make(chan error, 8)
	begun        = make(chan struct{}, 8)
	waitsForKill = bobbin.Func("test.waitsForKill", func(task *bobbin.Task, _ int) (int, error) {
		begun <- struct{}{}
		<-task.Done()
		reasons <- context.Cause(task)
		return 0, context.Cause(task)
	})
)

func TestBarrierReleasesAllTasksTogether(t *testing.T) {
	met.Store(0)
	require.NoError(t, locally(t, "local[3]", func(ctx context.Context, session *bobbin.Session) error {
		sums, err := meets.Run(ctx, session, []int{1, 2, 4}, bobbin.Barrier())
		require.Equal(t, []int{7, 7, 7}, sums)
		if err != nil {
			return err
		}
		counts, err := peers.Run(ctx, session, []int{0, 0}, bobbin.Barrier())
		require.Equal(t, []int{2, 2}, counts)
		if err != nil {
			return err
		}
		counts, err = peers.Run(ctx, session, []int{0})
		require.Equal(t, []int{0}, counts)
		return err
	}))
}

func TestBarrierWithoutOptionFails(t *testing.T) {
	err := locally(t, "local", func(ctx context.Context, session *bobbin.Session) error {
		_, err := alone.Run(ctx, session, []int{1})
		return err
	})
	require.ErrorContains(t, err, "run its function with bobbin.Barrier()")
	require.Error(t, (&bobbin.Task{Context: t.Context()}).Barrier(t.Context()), "a task that a test has made")
	_, err = (&bobbin.Task{Context: t.Context()}).CanCommit(t.Context())
	require.Error(t, err)
}

func TestCommitOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	require.NoError(t, locally(t, "local", func(ctx context.Context, session *bobbin.Session) error {
		_, err := commits.Run(ctx, session, []string{path})
		return err
	}))
	require.FileExists(t, path)
}

func TestCancelGroupWithReason(t *testing.T) {
	require.NoError(t, locally(t, "local[2]", func(ctx context.Context, session *bobbin.Session) error {
		failed := make(chan error)
		go func() {
			_, err := waitsForKill.Run(bobbin.Group(ctx, "nightly", "the night's numbers"), session, []int{1, 2})
			failed <- err
		}()
		<-begun
		<-begun
		require.Equal(t, 1, len(session.Jobs()))
		job := session.Jobs()[0]
		require.Equal(t, "nightly", job.Group)
		require.Equal(t, "the night's numbers", job.Description)
		require.Equal(t, 2, job.Tasks)
		require.Zero(t, session.CancelGroup("daily", "x"))
		require.Equal(t, 1, session.CancelGroup("nightly", "the night is over"))
		require.ErrorIs(t, <-failed, bobbin.ErrCancelled)
		for range 2 {
			require.ErrorContains(t, <-reasons, "the night is over")
		}
		require.False(t, session.CancelJob(job.ID, "again"))
		require.Equal(t, "cancelled", session.Jobs()[0].State)
		return nil
	}))
}

func TestInvalidResourceAmountFails(t *testing.T) {
	require.NoError(t, locally(t, "local[4]", func(ctx context.Context, session *bobbin.Session) error {
		got, err := addresses.Run(ctx, session, []int{1})
		require.Equal(t, []map[string][]string{nil}, got)
		return err
	}))
	err := locally(t, "local[4]", func(ctx context.Context, session *bobbin.Session) error {
		_, err := addresses.Run(ctx, session, []int{1}, bobbin.Resource("gpu", 1.5))
		return err
	})
	require.ErrorContains(t, err, "1.5 of resource gpu")
}

func TestFIFOJobsHaveNoPool(t *testing.T) {
	require.NoError(t, locally(t, "local", func(ctx context.Context, session *bobbin.Session) error {
		_, err := double.Run(bobbin.InPool(ctx, "reports"), session, []int{1}, bobbin.Pool("urgent"))
		require.Empty(t, session.Jobs()[0].Pool, "scheduler.mode is FIFO")
		return err
	}))
}

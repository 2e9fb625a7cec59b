package bobbin

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/role"
)

var devices = Func("test.devices", func(task *Task, _ int) (string, error) { return task.Resources()["gpu"][0], nil })

// underLocally runs a driver function on a local master with further settings.
func underLocally(t *testing.T, set map[string]string, run func(ctx context.Context, session *Session) error) error {
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

func TestALocalMasterHasTheResourcesOfItsSettings(t *testing.T) {
	set := map[string]string{"master": "local[4]", "executor.resource.gpu.amount": "1", "task.resource.gpu.amount": "0.5"}
	require.NoError(t, underLocally(t, set, func(ctx context.Context, session *Session) error {
		got, err := devices.Run(ctx, session, []int{1, 2, 3})
		require.Equal(t, []string{"0", "0", "0"}, got)
		return err
	}))
	set["executor.resource.gpu.discoveryScript"] = filepath.Join(t.TempDir(), "none")
	require.ErrorIs(t, underLocally(t, set, nil), os.ErrNotExist)
}

func TestALocalMasterReadsItsPools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pools.xml")
	set := map[string]string{"master": "local[2]", "scheduler.mode": "FAIR", "scheduler.allocation.file": file}
	require.ErrorIs(t, underLocally(t, set, nil), os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte(`<allocations><pool name="urgent"><weight>9</weight></pool></allocations>`), 0o600))
	require.NoError(t, underLocally(t, set, func(ctx context.Context, session *Session) error {
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

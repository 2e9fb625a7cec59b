package shuffle

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
)

func TestAdopt(t *testing.T) {
	const partitions = 5
	pairs := randomPairs(1, 5000)
	for name, host := range map[string]string{"files": "a", "port": "b"} {
		t.Run(name, func(t *testing.T) {
			config := access(t)
			leaving, heir, reader := newExecutor(t, config, "1", "a"), newExecutor(t, config, "2", host), newExecutor(t, config, "3", "c")
			out := write(t, leaving.Service, MapID{7, 1, 2}, partitions, 0, pairs)
			adopted, err := heir.Adopt(t.Context(), out)
			require.NoError(t, err)
			want := out
			want.ExecutorID, want.Host, want.Address, want.Path = "2", host, heir.options.Address, adopted.Path
			require.Equal(t, want, adopted)
			require.NotEqual(t, out.Path, adopted.Path)
			again, err := heir.Adopt(t.Context(), out)
			require.NoError(t, err)
			require.Equal(t, adopted, again)

			leaving.server.Close()
			leaving.Close()
			for _, s := range []*executor{heir, reader} {
				for p := range partitions {
					got, err := fetchAll(t.Context(), s.Service, []Output{adopted}, p)
					require.NoError(t, err)
					require.Equal(t, ofPartition(pairs, p, partitions), got)
				}
			}
			next, err := reader.Adopt(t.Context(), adopted)
			require.NoError(t, err)
			require.Equal(t, "3", next.ExecutorID)
			heir.Remove(7)
			require.Empty(t, files(t, heir.Service))
			_, err = heir.Adopt(t.Context(), next)
			require.ErrorContains(t, err, "shuffle 7 was removed")
			require.Empty(t, files(t, heir.Service))
		})
	}
}

func TestAdoptAnOutputWithoutRecords(t *testing.T) {
	heir := newService(t)
	adopted, err := heir.Adopt(t.Context(), Output{MapID: MapID{1, 2, 3}, ExecutorID: "9", Host: "h", Address: "h:1"})
	require.NoError(t, err)
	require.Equal(t, Output{MapID: MapID{1, 2, 3}, ExecutorID: "1", Host: "a"}, adopted)
	require.Empty(t, files(t, heir))
}

func TestAdoptRefusesDamagedOutputs(t *testing.T) {
	config := access(t)
	ended, end := context.WithCancelCause(t.Context())
	errEnd := errors.New("the task was killed")
	end(errEnd)
	for _, fault := range []struct {
		name          string
		apply         func(t *testing.T, from *executor, out *Output)
		files, remote error
	}{
		{"executor gone", func(_ *testing.T, from *executor, _ *Output) { from.server.Close(); from.Close() }, transfer.ErrUnreachable, transfer.ErrUnreachable},
		{"output removed", func(_ *testing.T, from *executor, _ *Output) { from.Remove(1) }, block.ErrNotFound, block.ErrNotFound},
		{"data missing", func(t *testing.T, _ *executor, out *Output) { require.NoError(t, os.Remove(out.Path)) }, block.ErrNotFound, block.ErrNotFound},
		{"index missing", func(t *testing.T, _ *executor, out *Output) { require.NoError(t, os.Remove(indexPath(out.Path))) }, os.ErrNotExist, block.ErrNotFound},
		{"data truncated", func(t *testing.T, _ *executor, out *Output) { require.NoError(t, os.Truncate(out.Path, out.Bytes-1)) }, block.ErrDamaged, block.ErrDamaged},
		{"index truncated", func(t *testing.T, _ *executor, out *Output) { require.NoError(t, os.Truncate(indexPath(out.Path), 20)) }, block.ErrDamaged, block.ErrDamaged},
		{"bit of data flipped", func(t *testing.T, _ *executor, out *Output) { flip(t, out.Path, out.Bytes-100) }, block.ErrDamaged, block.ErrDamaged},
		{"bit of index flipped", func(t *testing.T, _ *executor, out *Output) { flip(t, indexPath(out.Path), 15) }, block.ErrDamaged, block.ErrDamaged},
		{"index of other data", func(t *testing.T, _ *executor, out *Output) {
			require.NoError(t, os.WriteFile(indexPath(out.Path), encodeIndex([]int64{0, out.Bytes + 1}), 0o600))
		}, block.ErrDamaged, block.ErrDamaged},
	} {
		t.Run(fault.name, func(t *testing.T) {
			for host, reason := range map[string]error{"a": fault.files, "b": fault.remote} {
				from, heir := newExecutor(t, config, "1", "a"), newExecutor(t, config, "2", host)
				out := write(t, from.Service, MapID{1, 0, 0}, 3, 0, randomPairs(1, 5000))
				_, err := heir.Adopt(ended, out)
				require.ErrorIs(t, err, errEnd)
				fault.apply(t, from, &out)
				_, err = heir.Adopt(t.Context(), out)
				require.ErrorIs(t, err, reason)
				require.ErrorContains(t, err, "adopt map output 1_0_0 of executor 1 on a")
				require.Empty(t, files(t, heir.Service))
				_, err = heir.Open(sectionID(out.MapID, 0, 0))
				require.ErrorIs(t, err, block.ErrNotFound)
			}
		})
	}
	alone := newService(t)
	_, err := alone.Adopt(t.Context(), Output{Path: "/missing", Host: "elsewhere"})
	require.ErrorIs(t, err, transfer.ErrUnreachable)
	_, err = (*Service)(nil).Adopt(t.Context(), Output{})
	require.Error(t, err)
}

package dataset_test

import (
	"context"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/role"
)

func TestRecordedCacheSizes(t *testing.T) {
	const elements, partitions = 1000, 4
	run(t, func(ctx context.Context, session *bobbin.Session) {
		var sets []*dataset.Of[int64]
		for _, level := range []dataset.Level{dataset.Memory, dataset.Disk} {
			all := counted.With(session, numbers{elements, partitions}).Cache(level)
			_, err := all.Len(ctx)
			require.NoError(t, err)
			sets = append(sets, all)
		}
		recorder := role.FromContext(session.Context()).Driver.Events()
		recorded := recorder.Newest().Cached
		require.Len(t, recorded, 2)
		inMemory, onDisk := recorded[0], recorded[1]
		require.Equal(t, "memory", inMemory.Level)
		for executor, n := range inMemory.Stored {
			require.Equal(t, partitions, n)
			require.Greater(t, inMemory.Memory[executor], int64(2*elements), "each element has a length and at least one byte")
			require.Less(t, inMemory.Memory[executor], int64(10*elements))
		}
		require.Len(t, inMemory.Stored, 1)
		require.Empty(t, inMemory.Disk)
		require.True(t, maps.Equal(inMemory.Memory, onDisk.Disk), "%v %v", inMemory, onDisk)
		require.Empty(t, onDisk.Memory)

		sets[0].Uncache()
		require.Len(t, recorder.Newest().Cached, 1)
	})
}

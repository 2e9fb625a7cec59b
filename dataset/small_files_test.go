package dataset

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/storage"
)

func TestSmallFilesOfAHostShareAPartition(t *testing.T) {
	var splits []storage.Split
	for i := range 120 {
		hosts := [][]string{{"a", "b"}, {"c", "d"}, {"e"}}[i%3]
		splits = append(splits, storage.Split{Path: fmt.Sprint(i), Length: 1 << 20, Hosts: hosts})
	}
	partitions := packSplits(splits, 32<<20) // 16 files fill a partition, with openCost for each
	require.Len(t, partitions, 8)
	alone := 0
	for _, partition := range partitions {
		host := partition[0].Hosts[0]
		if !slices.ContainsFunc(partition, func(s storage.Split) bool { return s.Hosts[0] != host }) {
			alone++
		}
	}
	require.Equal(t, 7, alone, "two full partitions of each group of hosts, and one with the rest of the last group")
}

func TestEachSplitIsInOnePartition(t *testing.T) {
	const size = 64 << 20
	rapid.Check(t, func(t *rapid.T) {
		var splits []storage.Split
		small := int64(0)
		for i := range rapid.IntRange(0, 200).Draw(t, "splits") {
			split := storage.Split{Path: fmt.Sprint(i), Length: rapid.Int64Range(1, size).Draw(t, "length")}
			split.Hosts = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 0, 3, rapid.ID).Draw(t, "hosts")
			splits = append(splits, split)
			if split.Length < size/2 {
				small += split.Length + openCost
			}
		}
		var found []storage.Split
		shared := 0
		for _, partition := range packSplits(splits, size) {
			require.NotEmpty(t, partition)
			found = append(found, partition...)
			if partition[0].Length < size/2 {
				shared++
			}
		}
		require.ElementsMatch(t, splits, found)
		require.LessOrEqual(t, int64(shared), small/size+1, "all shared partitions but one are full")
	})
}

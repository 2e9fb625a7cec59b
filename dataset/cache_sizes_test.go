package dataset

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/block"
)

func TestCacheSizes(t *testing.T) {
	store := block.New(block.Options{Memory: 100, Directory: t.TempDir()})
	defer store.Close()
	first, second := ref{Plan: 1, Node: 2}, ref{Plan: 1, Node: 12}
	for _, put := range []struct {
		id    block.ID
		size  int
		level block.Level
	}{
		{cachedBlock{Node: first, Partition: 0}.id(), 60, block.MemoryAndDisk},
		{cachedBlock{Node: first, Partition: 1}.id(), 30, block.MemoryAndDisk},
		{cachedBlock{Node: second, Partition: 0}.id(), 40, block.MemoryOnly}, // drives the first to disk
		{block.TaskResult(7), 5, block.MemoryAndDisk},
	} {
		require.NoError(t, store.Put(put.id, make([]byte, put.size), put.level))
	}
	e := &engine{cacheSizes: map[string]cacheSizes{}}
	older, newer := cacheSizesOf(store), cacheSizesOf(store)
	newer.Sizes[cacheKey(first)] = cacheSize{Memory: 1}
	require.Equal(t, map[string]cacheSize{cacheKey(first): {Disk: 60, Memory: 30}, cacheKey(second): {Memory: 40}}, older.Sizes)
	e.addCacheSizes("1", newer)
	e.addCacheSizes("1", older)
	e.addCacheSizes("1", nil)
	require.EqualValues(t, 1, e.cacheSizes["1"].Sizes[cacheKey(first)].Memory, "what arrives late is ignored")
}

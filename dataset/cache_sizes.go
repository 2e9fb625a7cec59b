package dataset

import (
	"strings"
	"sync"

	"github.com/bobbin-yarn/bobbin/block"
)

// cacheSizes are the sizes of the cached partitions that an executor stores at one time, by
// data set.
type cacheSizes struct {
	_ struct{} `cbor:",toarray"`
	// Number is larger than that of all earlier cacheSizes of the executor. Results of tasks
	// that run at the same time can arrive at the driver in another order.
	Number uint64
	Sizes  map[string]cacheSize // by the data set's cacheKey
}

// cacheSize is the size of the partitions of one data set, in bytes.
type cacheSize struct {
	_            struct{} `cbor:",toarray"`
	Memory, Disk int64
}

var lastCacheSizes struct {
	sync.Mutex // held while sizes are measured, so that a larger number means later sizes
	number     uint64
}

// cacheSizesOf measures the cached partitions in an executor's block store.
func cacheSizesOf(store *block.Store) *cacheSizes {
	lastCacheSizes.Lock()
	defer lastCacheSizes.Unlock()
	lastCacheSizes.number++
	all := &cacheSizes{Number: lastCacheSizes.number, Sizes: map[string]cacheSize{}}
	for _, b := range store.Status().Blocks {
		if !b.ID.IsCached() {
			continue
		}
		key := string(b.ID[:strings.LastIndexByte(string(b.ID), '_')])
		size := all.Sizes[key]
		if b.OnDisk {
			size.Disk += b.Size
		} else {
			size.Memory += b.Size
		}
		all.Sizes[key] = size
	}
	return all
}

// addCacheSizes records what a task reports about its executor; sizes is nil if the task has
// stored no partition.
func (e *engine) addCacheSizes(executor string, sizes *cacheSizes) {
	if sizes != nil && sizes.Number > e.cacheSizes[executor].Number {
		e.cacheSizes[executor] = *sizes
	}
}

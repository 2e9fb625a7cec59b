package executorbackend

import (
	"math"
	"runtime/debug"

	"github.com/bobbin-yarn/bobbin/block"
)

const (
	// blockMemoryDivisor is the ratio of the process's memory limit to that of blocks.
	blockMemoryDivisor = 8
	// defaultBlockMemory is the limit of blocks, in bytes, if the process has no limit.
	defaultBlockMemory = 256 << 20
)

// executor is the part of an executor's state that outlives a stream to the driver.
type executor struct {
	options     Options
	instance    uint64 // random number that identifies the process; 0 if it cannot register again
	dataAddress string // host:port of the data port; "" if there is none
	blocks      *block.Store
}

// newExecutor returns an executor without blocks. The caller must close its store.
func newExecutor(options Options) *executor {
	blocks := block.Options{Memory: defaultBlockMemory, Logger: options.Logger}
	if options.replaceable {
		blocks.Directory = options.directory // YARN removes it with the container
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		blocks.Memory = limit / blockMemoryDivisor
	}
	return &executor{options: options, blocks: block.New(blocks)}
}

// hold adds a key of held data (Task.Hold), and reports whether the key is new.
func (x *executor) hold(key string) bool {
	return x.blocks.Put(block.Held(key), nil, block.MemoryOnly) == nil
}

// release removes keys under which tasks held data.
func (x *executor) release(keys []string) {
	for _, key := range keys {
		x.blocks.Remove(block.Held(key))
	}
}

// heldKeys returns the keys under which tasks hold data, sorted.
func (x *executor) heldKeys() (keys []string) {
	for _, b := range x.blocks.Status().Blocks {
		if key, ok := b.ID.HeldKey(); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// dropStreamBlocks removes the blocks of the ended stream: results of tasks, and shared
// inputs of task sets, which the driver sends again on the next stream.
func (x *executor) dropStreamBlocks() {
	for _, b := range x.blocks.Status().Blocks {
		if _, held := b.ID.HeldKey(); !held {
			x.blocks.Remove(b.ID)
		}
	}
}

package executorbackend

import (
	"math"
	"runtime/debug"

	"github.com/bobbin-yarn/bobbin/block"
)

const (
	// Blocks may take this fraction of the process's memory limit,
	blockMemoryDivisor = 8
	// or this many bytes if there is no limit.
	defaultBlockMemory = 256 << 20
)

// executor is what an executor keeps from one stream to the next.
type executor struct {
	options     Options
	instance    uint64 // identifies the process; 0 if it has a single stream
	dataAddress string // host:port of the data port; "" if there is none
	blocks      *block.Store
}

// newExecutor returns an executor without blocks. The caller closes its store.
func newExecutor(options Options) *executor {
	blocks := block.Options{Memory: defaultBlockMemory, Logger: options.Logger}
	if options.replaceable {
		blocks.Directory = options.directory // removed with the container
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		blocks.Memory = limit / blockMemoryDivisor
	}
	return &executor{options: options, blocks: block.New(blocks)}
}

// hold adds a key under which a task holds data, and reports whether it is new.
func (x *executor) hold(key string) bool {
	return x.blocks.Put(block.Held(key), nil, block.MemoryOnly) == nil
}

// release removes keys of held data.
func (x *executor) release(keys []string) {
	for _, key := range keys {
		x.blocks.Remove(block.Held(key))
	}
}

// heldKeys returns the keys of held data, in order.
func (x *executor) heldKeys() (keys []string) {
	for _, b := range x.blocks.Status().Blocks {
		if key, ok := b.ID.HeldKey(); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// dropStreamBlocks removes the blocks that only the driver of the ended stream
// can ask for: results, and shared values, which the driver sends again on the
// next stream.
func (x *executor) dropStreamBlocks() {
	for _, b := range x.blocks.Status().Blocks {
		if _, held := b.ID.HeldKey(); !held {
			x.blocks.Remove(b.ID)
		}
	}
}

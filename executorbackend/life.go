package executorbackend

import (
	"math"
	"runtime/debug"

	"github.com/bobbin-yarn/bobbin/block"
)

const (
	// memoryPart is the part of this process's memory that blocks may take, and
	// memoryDefault is what they may take where that has no limit.
	memoryPart    = 8
	memoryDefault = 256 << 20
)

// life is what an executor keeps from one stream to the next.
type life struct {
	instance    uint64 // tells it from other processes; 0 for one of a single stream
	dataAddress string // host:port of its data port; "" where it has none
	blocks      *block.Store
}

// newLife makes an empty store of blocks, which the caller closes.
func newLife(options Options) *life {
	blocks := block.Options{Memory: memoryDefault, Logger: options.Logger}
	if options.replaceable {
		blocks.Directory = options.directory // the container's, which goes with it
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		blocks.Memory = limit / memoryPart
	}
	return &life{blocks: block.New(blocks)}
}

// hold adds a key, and reports whether it is new.
func (l *life) hold(key string) bool {
	return l.blocks.Put(block.Held(key), nil, block.MemoryOnly) == nil
}

// release forgets keys that nobody wants any more.
func (l *life) release(keys []string) {
	for _, key := range keys {
		l.blocks.Remove(block.Held(key))
	}
}

// holding returns all keys, in order.
func (l *life) holding() (keys []string) {
	for _, b := range l.blocks.Status().Blocks {
		if key, ok := b.ID.HeldKey(); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// endStream removes what only the driver's end of a stream can ask for: results,
// and what task sets share, which the driver sends again over the next stream.
func (l *life) endStream() {
	for _, b := range l.blocks.Status().Blocks {
		if _, held := b.ID.HeldKey(); !held {
			l.blocks.Remove(b.ID)
		}
	}
}

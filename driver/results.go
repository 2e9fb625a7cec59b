package driver

import (
	"sync"
	"sync/atomic"
)

// results are what a run has for its consumer. The event loop puts in without
// ever waiting.
type results struct {
	ready  chan struct{} // holds a token where something was put in
	bytes  atomic.Int64  // that were put in and not taken out, or are with the consumer
	wanted atomic.Bool   // the event loop waits for bytes to be less

	mu     sync.Mutex
	chunks [][]Result // of growing sizes, so that none is ever copied into a larger one
	spare  [][]Result // chunks that the consumer is done with
	ended  bool
	err    error
}

// Sizes of chunks: a job of few results takes little, one of many goes through
// few chunks. A consumer that keeps up has them go round.
const (
	firstChunk = 4
	mostChunk  = 256
	mostSpare  = 64 // chunks
)

func newResults() *results { return &results{ready: make(chan struct{}, 1)} }

func (r *results) put(result Result) {
	if size := len(result.Value); size > 0 {
		r.bytes.Add(int64(size))
	}
	r.mu.Lock()
	last := len(r.chunks) - 1
	first := last < 0
	if first || len(r.chunks[last]) == cap(r.chunks[last]) {
		r.chunks = append(r.chunks, r.newChunk())
		last++
	}
	r.chunks[last] = append(r.chunks[last], result)
	r.mu.Unlock()
	if first { // who has taken what there was takes again before it waits
		r.signal()
	}
}

// newChunk is an empty chunk to come after those that there are.
func (r *results) newChunk() []Result {
	if last := len(r.spare) - 1; last >= 0 {
		chunk := r.spare[last]
		r.spare = r.spare[:last]
		return chunk
	}
	size := firstChunk
	if last := len(r.chunks) - 1; last >= 0 {
		size = min(2*cap(r.chunks[last]), mostChunk)
	}
	return make([]Result, 0, size)
}

// giveBack returns a chunk that take gave, for further results.
func (r *results) giveBack(chunk []Result) {
	if cap(chunk) < mostChunk {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spare) < mostSpare {
		r.spare = append(r.spare, chunk[:0])
	}
}

// took notes that the consumer is done with so many bytes, and reports whether
// the event loop is to be told.
func (r *results) took(size int) bool {
	r.bytes.Add(-int64(size))
	return r.wanted.Load() && r.wanted.CompareAndSwap(true, false)
}

// end is the last that is put in.
func (r *results) end(err error) {
	r.mu.Lock()
	r.ended, r.err = true, err
	r.mu.Unlock()
	r.signal()
}

func (r *results) signal() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

func (r *results) take() (chunks [][]Result, ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	chunks, r.chunks = r.chunks, nil
	return chunks, r.ended, r.err
}

// isQuiet reports whether there is nothing to take.
func (r *results) isQuiet() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.chunks) == 0 && !r.ended
}

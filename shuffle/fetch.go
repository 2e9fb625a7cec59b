package shuffle

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/bobbin-yarn/bobbin/block"
)

const (
	maxInFlight = 8 << 20 // most bytes that a Fetch has received and not yet yielded
	maxPeers    = 4       // most peers from which a Fetch receives at a time
)

// wanted is a section that is to be fetched.
type wanted struct {
	output *Output
	offset int64 // end of the blocks that were read
	reread bool  // set after its first error of type block.ErrDamaged
}

// fetched is a block that was read and checked.
type fetched struct {
	from   *wanted
	header header
	stored []byte // a buffer of the pool
	weight int64  // part of the bytes in flight
	err    error  // if set, there is no block, and the fetch ends
}

// fetch is the state of one Fetch. Only the consumer's goroutine uses the fields before
// service; goroutines that receive from peers use the others too.
type fetch struct {
	yield  func(Records, error) bool
	raw    []byte // decoded block
	stored []byte // block read from a file
	files  *bufio.Reader

	service   *Service
	partition int
	stall     time.Duration // how long a connection waits for room
	limit     int64         // of bytes in flight
	inFlight  *semaphore.Weighted
	blocks    *queue
}

// Fetch yields the blocks of a partition of outputs, in any order. It reads outputs on
// this host from their files and fetches the others from their executors, from several
// at a time. It checks all bytes, and reads what is damaged a second time. The records
// of a block are valid until the next one is yielded. The sequence ends after an error:
// a *FetchError if an output cannot be read, or ctx's cause if ctx ends.
func (s *Service) Fetch(ctx context.Context, outputs []Output, partition int) iter.Seq2[Records, error] {
	return func(yield func(Records, error) bool) {
		if s == nil {
			yield(Records{}, errNoService)
			return
		}
		local, remote := s.split(outputs, partition)
		f := &fetch{yield: yield, service: s, partition: partition, stall: stallTimeout}
		defer func() { putBuffer(f.raw); putBuffer(f.stored) }()
		if len(remote) > 0 {
			f.limit = min(maxInFlight, max(s.TaskMemory()/8, 2*blockSize))
			f.inFlight = semaphore.NewWeighted(f.limit)
			f.blocks = newQueue()
			stop := f.receive(ctx, remote)
			defer stop()
		}
		if f.readFiles(ctx, local) && len(remote) > 0 {
			f.consume(ctx)
		}
	}
}

// split returns the sections that are read from files of this host, and the others by
// the addresses of their executors. Sections without records are in neither.
func (s *Service) split(outputs []Output, partition int) (local []*wanted, remote map[string][]*wanted) {
	remote = map[string][]*wanted{}
	for i := range outputs {
		o := &outputs[i]
		switch {
		case o.Sizes.Of(partition) == 0:
		case s.onHost(o):
			local = append(local, &wanted{output: o})
		default:
			remote[o.Address] = append(remote[o.Address], &wanted{output: o})
		}
	}
	return local, remote
}

// onHost reports whether an output's files can be read on this host. Those of this
// service have to be.
func (s *Service) onHost(o *Output) bool {
	if o.ExecutorID == s.options.ExecutorID {
		return true
	}
	if o.Host != s.options.Host {
		return false
	}
	if s.indexes.has(o.Path) {
		return true
	}
	file, err := os.Open(o.Path) // it fails if the file belongs to another user
	if err != nil {
		return false
	}
	_ = file.Close() // it was only opened
	return true
}

// readFiles yields the blocks of sections on this host. It reports whether the
// sequence goes on.
func (f *fetch) readFiles(ctx context.Context, sections []*wanted) bool {
	if len(sections) == 0 {
		return true
	}
	f.files = fileReaders.Get().(*bufio.Reader)
	defer func() {
		f.files.Reset(nil)
		fileReaders.Put(f.files)
	}()
	for _, w := range sections {
		for {
			more, err := f.readFile(ctx, w)
			if !more {
				return false
			}
			if err == nil {
				break
			}
			if !errors.Is(err, block.ErrDamaged) || w.reread {
				f.yield(Records{}, f.failed(w, err))
				return false
			}
			w.reread = true
			f.service.indexes.remove(w.output.Path)
		}
	}
	return true
}

var fileReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 32<<10) }}

// readFile yields the blocks of a section from w.offset on. more is false if the
// sequence ends.
func (f *fetch) readFile(ctx context.Context, w *wanted) (more bool, err error) {
	opened, err := f.service.openSection(w.output.Path, f.partition, w.offset)
	if err != nil {
		return true, err
	}
	defer opened.Release()
	if opened.size == 0 && w.offset == 0 {
		return true, errEmpty
	}
	f.files.Reset(io.NewSectionReader(opened.file, opened.offset, opened.size))
	blocks := blockReader{input: f.files, name: w.output.Path, left: opened.size, offset: opened.offset}
	begin := opened.offset - w.offset
	for {
		if ctx.Err() != nil {
			f.yield(Records{}, context.Cause(ctx))
			return false, nil
		}
		records, err := blocks.next(&f.stored, &f.raw)
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return true, err
		}
		w.offset = blocks.offset - begin
		if !f.yield(records, nil) {
			return false, nil
		}
	}
}

// consume yields the blocks that were received from peers.
func (f *fetch) consume(ctx context.Context) {
	var blocks []fetched
	for {
		blocks = f.blocks.take(ctx, blocks)
		if ctx.Err() != nil {
			f.yield(Records{}, context.Cause(ctx))
			return
		}
		if len(blocks) == 0 {
			return
		}
		for i := range blocks {
			if !f.consumeBlock(&blocks[i]) {
				return
			}
		}
	}
}

// consumeBlock yields a block that was received. It reports whether the sequence goes on.
func (f *fetch) consumeBlock(got *fetched) bool {
	if got.err != nil {
		f.yield(Records{}, got.err)
		return false
	}
	records, err := got.header.decode(got.stored, &f.raw)
	if err != nil {
		f.yield(Records{}, f.failed(got.from, err))
		return false
	}
	more := f.yield(records, nil)
	putBuffer(got.stored)
	got.stored = nil
	f.inFlight.Release(got.weight)
	return more
}

// failed returns the error of a section that cannot be read.
func (f *fetch) failed(w *wanted, err error) error {
	return &FetchError{Output: *w.output, Partition: f.partition, Err: err}
}

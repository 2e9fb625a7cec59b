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

	"github.com/bobbin-yarn/bobbin/block"
)

const (
	maxInFlight = 8 << 20 // limit of the bytes that a Fetch has received but not yet yielded
	maxPeers    = 4       // largest number of peers from which a Fetch receives at a time
)

// wantedSection is a section that a Fetch reads: one partition of one output.
type wantedSection struct {
	output            *Output
	local             bool  // whether the section is read from a file on this host
	offset            int64 // offset in the section of the next byte to receive
	reread            bool  // whether the section was requested again after block.ErrDamaged
	viaShuffleService bool  // whether the section is received from its node's shuffle service
	receivedSection
}

// fetch is the state of one Fetch. The goroutine that ranges over the Fetch is called the
// consumer.
type fetch struct {
	yield      func(Records, error) bool
	raw        []byte // buffer for a decoded block
	stored     []byte // buffer for a block that is read from a file
	fileReader *bufio.Reader

	sections  []*wantedSection
	requested int   // number of sections, from the first on, that are requested or need no request
	inFlight  int64 // sum of the weights of the sections that are requested but not yet consumed

	service      *Service
	partition    int
	stallTimeout time.Duration // how long a connection waits for the consumer
	limit        int64         // limit of inFlight, in bytes
	receiver     *receiver     // nil until a section is requested
}

// Fetch yields the blocks of one partition of all outputs. The order of the blocks depends
// only on the partition and the order of the outputs, so a task attempt that runs again reads
// the same records in the same order.
//
// Fetch reads outputs on this host from their files. It fetches other outputs from their
// executors or from the shuffle services of their nodes, from several peers at a time. It
// verifies all checksums, and reads a damaged section a second time. The records of a block
// are valid until the next block is yielded. The sequence ends after an error: a *FetchError
// if an output cannot be read, or ctx's cause if ctx ends.
func (s *Service) Fetch(ctx context.Context, outputs []Output, partition int) iter.Seq2[Records, error] {
	return func(yield func(Records, error) bool) {
		if s == nil {
			yield(Records{}, errNoService)
			return
		}
		f := &fetch{yield: yield, service: s, partition: partition, stallTimeout: stallTimeout,
			limit: min(maxInFlight, max(s.TaskMemory()/8, 2*blockSize))}
		f.run(ctx, outputs)
	}
}

// run yields the blocks. Tasks that read different partitions begin with different outputs, so
// that they do not all send requests to the same peer at the same time.
func (f *fetch) run(ctx context.Context, outputs []Output) {
	for i := range outputs {
		o := &outputs[(i+f.partition)%len(outputs)]
		if o.Sizes.Of(f.partition) > 0 {
			f.sections = append(f.sections, &wantedSection{output: o, local: f.service.isOnThisHost(o)})
		}
	}
	defer f.close()
	for i, s := range f.sections {
		f.requestAhead(ctx, i)
		if s.local && !f.readFile(ctx, s) || !s.local && !f.consume(ctx, s) {
			return
		}
	}
}

// close stops the receiver and frees the buffers.
func (f *fetch) close() {
	if f.receiver != nil {
		f.receiver.stop()
	}
	putBuffer(f.raw)
	putBuffer(f.stored)
	if f.fileReader != nil {
		f.fileReader.Reset(nil)
		fileReaders.Put(f.fileReader)
	}
}

// isOnThisHost reports whether this process can read an output's files. For an output of this
// service it returns true without opening the files, because a service cannot fetch from
// itself.
func (s *Service) isOnThisHost(o *Output) bool {
	if o.ExecutorID == s.options.ExecutorID {
		return true
	}
	if o.Host != s.options.Host {
		return false
	}
	if s.indexes.has(o.Path) {
		return true
	}
	file, err := os.Open(o.Path) // fails if the file belongs to another user
	if err != nil {
		return false
	}
	_ = file.Close() // an error loses no data, because nothing was written
	return true
}

var fileReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 32<<10) }}

// readFile yields the blocks of a section on this host. It returns false if the sequence has
// ended, because of an error or because yield returned false.
func (f *fetch) readFile(ctx context.Context, s *wantedSection) bool {
	for {
		more, err := f.readBlocks(ctx, s)
		if !more || err == nil {
			return more
		}
		if !errors.Is(err, block.ErrDamaged) || s.reread {
			f.yield(Records{}, f.sectionError(s, err))
			return false
		}
		s.reread = true
		f.service.indexes.remove(s.output.Path)
	}
}

// readBlocks yields the blocks of a section's file from s.offset on. more is false if yield
// returned false; err is then nil.
func (f *fetch) readBlocks(ctx context.Context, s *wantedSection) (more bool, err error) {
	opened, err := f.service.openSection(s.output.Path, f.partition, s.offset)
	if err != nil {
		return true, err
	}
	defer opened.Release()
	if opened.size == 0 && s.offset == 0 {
		return true, errEmptySection
	}
	if f.fileReader == nil {
		f.fileReader = fileReaders.Get().(*bufio.Reader)
	}
	f.fileReader.Reset(io.NewSectionReader(opened.file, opened.offset, opened.size))
	blocks := blockReader{input: f.fileReader, name: s.output.Path, left: opened.size, offset: opened.offset}
	begin := opened.offset - s.offset
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
		s.offset = blocks.offset - begin
		if !f.yield(records, nil) {
			return false, nil
		}
	}
}

// sectionError returns a *FetchError with the error of reading a section.
func (f *fetch) sectionError(s *wantedSection, err error) error {
	return &FetchError{Output: *s.output, Partition: f.partition, Err: err}
}

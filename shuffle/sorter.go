package shuffle

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"unsafe"
)

var errSorterDone = errors.New("the sorter is closed, or its records were read")

// Record is a record that a Sorter sorts.
type Record struct {
	Prefix     uint64
	Key, Value []byte
}

// Sorter sorts records by their prefixes, and records with equal prefixes by their keys'
// bytes. The order of records with equal prefixes and equal keys is unspecified. Only one
// goroutine may use a Sorter. The caller must close it.
type Sorter struct {
	directory string
	budget    int64

	slabs   slabs
	items   []*[itemChunk]item
	n       int
	sorted  []item   // all items in order; set while records are read from memory
	spilled []string // files of sorted records
	bytes   int64    // size of all files that were written so far, including merged files
	touched byte     // written so that the compiler does not remove the reads in the method touch

	ctx     context.Context // the context that was passed to Read
	merging *merge          // reads the spilled files; nil if records are read from memory
	next    int             // index in sorted of the next record

	err error // if not nil, Add and Spill fail with this error
}

// item refers to a record whose frame is in a slab.
type item struct {
	prefix uint64
	at     position
}

const (
	itemChunk = 4096
	// itemBytes is the number of bytes that a record needs besides its frame: its item, and
	// the copy of the item that sort makes.
	itemBytes = 2 * int64(unsafe.Sizeof(item{}))
)

// NewSorter returns a Sorter that uses at most budget bytes of memory, or minBudget if that is
// more. When the records exceed this limit, the Sorter sorts those in memory and writes them
// to a file in directory.
func NewSorter(directory string, budget int64) *Sorter {
	s := &Sorter{directory: directory, budget: max(budget, minBudget)}
	if s.budget > 4*blockWriterMemory {
		s.budget -= blockWriterMemory
	}
	return s
}

// Add adds a record. It copies key and value. It fails if a file cannot be written.
func (s *Sorter) Add(prefix uint64, key, value []byte) error {
	if s.err != nil {
		return s.err
	}
	size := frameSize(key, value)
	if size > maxRecord-prefixBytes-maxLengthBytes {
		return fmt.Errorf("a record of %d bytes is too large: the limit is %d", size, maxRecord)
	}
	chunk := s.n / itemChunk
	if s.n > 0 && s.slabs.bytes+s.slabs.grow(size)+int64(chunk+1)*itemChunk*itemBytes > s.budget {
		if err := s.Spill(); err != nil {
			return err
		}
		chunk = 0
	}
	if chunk == len(s.items) {
		s.items = append(s.items, new([itemChunk]item))
	}
	at, frame := s.slabs.alloc(size)
	putFrame(frame, key, value)
	s.items[chunk][s.n%itemChunk] = item{prefix, at}
	s.n++
	return nil
}

// Spilled returns the total size, in bytes, of the files written so far.
func (s *Sorter) Spilled() int64 { return s.bytes }

// Spill writes the records in memory to a file and frees their memory. After an error, only
// Close may be called.
func (s *Sorter) Spill() error {
	if s.err != nil || s.n == 0 {
		return s.err
	}
	s.sort()
	path, bytes, err := writeSorted(s.directory, func(yield func([]byte) bool) {
		var frame []byte
		for i := range s.sorted {
			s.touch(i)
			frame = s.appendSpilled(frame[:0], &s.sorted[i])
			if !yield(frame) {
				return
			}
		}
	})
	s.freeMemory()
	if err != nil {
		return s.fail(err)
	}
	s.bytes += bytes
	s.spilled = append(s.spilled, path)
	return nil
}

func (s *Sorter) fail(err error) error {
	s.Close()
	s.err = fmt.Errorf("sort: %w", diskError(err))
	return s.err
}

func (s *Sorter) freeMemory() {
	s.slabs.free()
	s.items, s.n, s.sorted = nil, 0, nil
}

// Close frees the memory and removes all files. Further calls of Close do nothing.
func (s *Sorter) Close() {
	s.freeMemory()
	if s.merging != nil {
		s.merging.close()
		s.merging = nil
	}
	for _, path := range s.spilled {
		_ = os.Remove(path) // if Remove fails, the owner of s.directory removes the file later
	}
	s.spilled = nil
	if s.err == nil {
		s.err = errSorterDone
	}
}

// checkInterval is the number of records after which a reader checks whether its context
// has ended.
const checkInterval = 1024

// Read sorts the records, so that Next can return them. After Read, only Next and Close may be
// called. If ctx ends, Read and Next fail with ctx's cause. Other errors come from reading or
// writing files.
func (s *Sorter) Read(ctx context.Context) error {
	if s.err == nil && len(s.spilled) > 0 {
		_ = s.Spill() // sets s.err if it fails
	}
	if s.err != nil {
		return s.err
	}
	s.err, s.ctx = errSorterDone, ctx
	if len(s.spilled) > 0 {
		return s.mergeFiles(ctx)
	}
	s.sort()
	return nil
}

// Next returns the next record in order, which is valid until the next call. ok is false if
// there are no more records. After an error, only Close may be called.
func (s *Sorter) Next() (r Record, ok bool, err error) {
	if s.merging != nil {
		c, err := s.merging.next()
		if c == nil {
			return Record{}, false, err
		}
		return Record{c.prefix, c.key[prefixBytes:], c.value}, true, nil
	}
	if s.next%checkInterval == 0 && s.ctx.Err() != nil {
		return Record{}, false, context.Cause(s.ctx)
	}
	if s.next == len(s.sorted) {
		return Record{}, false, nil
	}
	s.touch(s.next)
	item := &s.sorted[s.next]
	s.next++
	key, rest := cutField(s.slabs.from(item.at))
	value, _ := cutField(rest)
	return Record{item.prefix, key, value}, true, nil
}

// All calls Read and yields the records. The sequence ends after an error.
func (s *Sorter) All(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := s.Read(ctx); err != nil {
			yield(Record{}, err)
			return
		}
		for {
			r, ok, err := s.Next()
			if !ok && err == nil || !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// touch reads a byte of each of the next 64 frames if i is a multiple of 64, so that the
// frames are in the processor's caches when they are needed. Frames are at random places in
// memory. If they are read together, the processor loads several of them at the same time.
func (s *Sorter) touch(i int) {
	const ahead = 64
	if i%ahead != 0 {
		return
	}
	for j := range s.sorted[i:min(i+ahead, len(s.sorted))] {
		s.touched += s.slabs.from(s.sorted[i+j].at)[0]
	}
}

// In the Sorter's files, the key of a frame is the record's prefix, big-endian, followed by
// the record's key. So the order of the frames' keys is the order of the records.
const (
	prefixBytes    = 8
	maxLengthBytes = binary.MaxVarintLen32
)

// appendSpilled encodes a record in the format of the Sorter's files, and appends the encoded
// record to frame.
func (s *Sorter) appendSpilled(frame []byte, it *item) []byte {
	key, rest := cutField(s.slabs.from(it.at))
	value, _ := cutField(rest)
	frame = binary.AppendUvarint(frame, uint64(prefixBytes+len(key)))
	frame = append(binary.BigEndian.AppendUint64(frame, it.prefix), key...)
	return append(binary.AppendUvarint(frame, uint64(len(value))), value...)
}

// writeSorted writes frames, which must be in order, to a new file in a directory. It
// returns the path and size of the file. If it fails, it removes the file.
func writeSorted(directory string, frames iter.Seq[[]byte]) (path string, bytes int64, err error) {
	file, err := os.CreateTemp(directory, "sort-*")
	if err != nil {
		return "", 0, err
	}
	blocks := NewBlockWriter(file)
	defer blocks.Release()
	for frame := range frames {
		if err = blocks.add(frame); err != nil {
			break
		}
	}
	if err == nil {
		err = blocks.Flush()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(file.Name()) // if Remove fails, the directory's owner removes the file later
		return "", 0, err
	}
	return file.Name(), blocks.offset, nil
}

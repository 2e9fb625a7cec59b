package shuffle

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/zeebo/xxh3"
)

// minBudget is the least memory budget, in bytes, of a Writer or a Sorter. A smaller budget is
// raised to minBudget.
const minBudget = 1 << 20

var errWriterDone = errors.New("the writer was committed or aborted")

// Writer writes the output of an attempt of a map task. Only one goroutine may use it. The
// caller must call Commit or Abort.
type Writer struct {
	service    *Service
	id         MapID
	partitions int
	budget     int64 // memory limit of the buffers, in bytes

	buffers  partitionBuffers
	spills   []partitionedFile
	records  int64
	raw      int64  // number of bytes of the records' keys and values
	checksum uint64 // sum of the records' hashes
	err      error  // if not nil, Add, AddOrdered and Commit fail with it
}

// NewWriter returns a Writer for the output with the given id. The Writer stores records in at
// most budget bytes of memory, or minBudget if that is more. When the records exceed this limit,
// the Writer spills them to a file.
func (s *Service) NewWriter(id MapID, partitions int, budget int64) *Writer {
	w := &Writer{service: s, id: id, partitions: partitions, budget: max(budget, minBudget)}
	if w.budget > 4*blockWriterMemory {
		w.budget -= blockWriterMemory
	}
	w.buffers = newPartitionBuffers(partitions, w.budget)
	if s == nil {
		w.err = errNoService
	}
	return w
}

// Add adds a record to a partition. It copies key and value. It fails if the partition does
// not exist or the record is too large. It also fails if a file cannot be written; Commit then
// fails with the same error.
func (w *Writer) Add(partition int, key, value []byte) error {
	if w.err != nil {
		return w.err
	}
	size := frameSize(key, value)
	if uint(partition) >= uint(w.partitions) || size > maxRecord {
		return w.invalidRecord(partition, size)
	}
	if more := w.buffers.grow(partition, size); more > 0 && w.buffers.slabs.bytes+more > w.budget && !w.buffers.empty() {
		if err := w.spill(); err != nil {
			return err
		}
	}
	putFrame(w.buffers.alloc(partition, size), key, value)
	w.addToTotals(partition, key, value)
	return nil
}

func (w *Writer) invalidRecord(partition, size int) error {
	if size > maxRecord {
		return fmt.Errorf("a record of %d bytes is too large: the limit is %d", size, maxRecord)
	}
	return fmt.Errorf("partition %d of %d", partition, w.partitions)
}

// Spilled returns the number of bytes of the files that the Writer has written so far,
// before Commit.
func (w *Writer) Spilled() (bytes int64) {
	for _, r := range w.spills {
		bytes += r.offsets[w.partitions]
	}
	return bytes
}

// AddOrdered adds records that are in the order of their partitions. It writes them to a file
// without buffering all of them in memory. It calls the function records, which must call the
// function add for each record, and must return the first error of add. The partition of a record
// must not be less than that of the previous record.
func (w *Writer) AddOrdered(records func(add func(partition int, key, value []byte) error) error) error {
	if w.err != nil {
		return w.err
	}
	return w.addSpill(func(r *partitionedFileWriter) error {
		var frame []byte
		return records(func(partition int, key, value []byte) error {
			size := frameSize(key, value)
			if uint(partition) >= uint(w.partitions) || size > maxRecord {
				return w.invalidRecord(partition, size)
			}
			if partition < len(r.offsets)-1 {
				return fmt.Errorf("a record of partition %d after one of partition %d", partition, len(r.offsets)-1)
			}
			frame = slices.Grow(frame[:0], size)[:size]
			putFrame(frame, key, value)
			w.addToTotals(partition, key, value)
			return r.add(partition, frame)
		})
	})
}

// spill writes the records in memory to a file and frees their memory.
func (w *Writer) spill() error {
	if err := w.addSpill(func(r *partitionedFileWriter) error { return w.buffers.write(r.add) }); err != nil {
		return err
	}
	w.buffers.free()
	return nil
}

func (w *Writer) addSpill(write func(*partitionedFileWriter) error) error {
	r, err := w.createPartitionedFile(write)
	if err != nil {
		return w.fail(err)
	}
	w.spills = append(w.spills, r)
	return nil
}

// addToTotals adds a record to the output's number of records, raw size and checksum.
func (w *Writer) addToTotals(partition int, key, value []byte) {
	w.checksum += xxh3.HashSeed(value, xxh3.HashSeed(key, uint64(partition)))
	w.records++
	w.raw += int64(len(key) + len(value))
}

// fail removes all files. It wraps err, and later calls of Add, AddOrdered and Commit fail
// with the wrapped error.
func (w *Writer) fail(err error) error {
	w.release()
	w.err = fmt.Errorf("write map output %s: %w", w.id, diskError(err))
	return w.err
}

// release frees the memory and removes the spilled files.
func (w *Writer) release() {
	w.buffers.free()
	for _, r := range w.spills {
		_ = os.Remove(r.path) // if Remove fails, Service.Close removes the file with its directory
	}
	w.spills = nil
}

// Abort removes everything that the Writer has written. After Commit, Abort does nothing.
func (w *Writer) Abort() {
	if w.err == nil {
		w.release()
		w.err = errWriterDone
	}
}

// Commit writes the output's data file and index file, and registers the output with the
// service, which serves it. An output without records has no files. If Commit fails, it
// removes all files.
func (w *Writer) Commit() (Output, error) {
	if w.err != nil {
		return Output{}, w.err
	}
	options := &w.service.options
	out := Output{MapID: w.id, ExecutorID: options.ExecutorID, Host: options.Host, Address: options.Address,
		Records: w.records, Raw: w.raw, Checksum: w.checksum}
	sealed, err := w.service.KeepsOnNode()
	if err != nil {
		return Output{}, w.fail(err)
	}
	if sealed {
		out.Node = w.service.node.Address
	}
	write := w.concatenateSealed
	if sealed && len(w.spills) == 0 {
		write = w.writeSealed
	} else if !w.buffers.empty() {
		if err := w.spill(); err != nil {
			return Output{}, err
		}
	}
	if len(w.spills) > 0 || !w.buffers.empty() {
		var path string
		var offsets []int64
		if sealed {
			path, offsets, err = w.service.commitSealed(w.id, write)
		} else {
			path, offsets, err = w.service.commit(w.id, w.spills, w.partitions, w.budget)
		}
		if err != nil {
			return Output{}, w.fail(err)
		}
		sizes := make([]int64, w.partitions)
		for i := range sizes {
			sizes[i] = offsets[i+1] - offsets[i]
		}
		out.Path, out.Sizes, out.Bytes = path, newSizes(sizes), offsets[w.partitions]
	}
	w.release()
	w.err = errWriterDone
	return out, nil
}

// writeSealed writes the records in memory to the sealed data file of an output. It returns
// the partitions' offsets before sealing.
func (w *Writer) writeSealed(file *sealWriter) ([]int64, error) {
	r := partitionedFileWriter{blocks: NewBlockWriter(file), offsets: make([]int64, 1, w.partitions+1), seal: file}
	defer r.blocks.Release()
	err := w.buffers.write(r.add)
	if err == nil {
		err = r.end(w.partitions)
	}
	return r.offsets, err
}

// concatenateSealed is like writeSealed, but for the records in w.spills.
func (w *Writer) concatenateSealed(file *sealWriter) ([]int64, error) {
	return concatenate(file, w.spills, w.partitions, w.budget)
}

package shuffle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bobbin-yarn/bobbin/block"
)

// run is a file with a part of a Writer's records, in the order of their partitions.
type run struct {
	path    string
	offsets []int64 // of each partition, and the end of the last one
}

// writeRun writes the collected records to a new file and frees their memory. If it
// fails, it removes the file.
func (w *Writer) writeRun() (run, error) {
	directory, err := w.service.Directory()
	if err != nil {
		return run{}, err
	}
	file, err := os.CreateTemp(directory, fmt.Sprintf("%s%s-run-*", sectionPrefix, w.id))
	if err != nil {
		return run{}, err
	}
	r := run{path: file.Name()}
	r.offsets, err = w.writeBlocks(file)
	if err := errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(r.path) // if it fails, the service's Close removes the directory
		return run{}, err
	}
	w.slabs.free()
	w.entries.n = 0
	return r, nil
}

func (w *Writer) writeBlocks(file *os.File) (offsets []int64, err error) {
	blocks := newBlockWriter(file)
	defer blocks.release()
	order, ends := w.entries.byPartition(w.partitions)
	offsets = make([]int64, w.partitions+1)
	next := 0
	for p, end := range ends {
		for ; next < int(end); next++ {
			e := w.entries.at(int(order[next]))
			if err := blocks.add(w.slabs.from(e.at)[:e.size]); err != nil {
				return nil, err
			}
		}
		if err := blocks.endBlock(); err != nil {
			return nil, err
		}
		offsets[p+1] = blocks.offset
	}
	return offsets, blocks.flush()
}

const (
	minMergeBuffer = 4 << 10
	maxMergeBuffer = 256 << 10
)

// concatenate writes each partition's blocks of all runs to a file, one partition after
// the other, and returns the partitions' offsets. It uses about budget bytes of memory.
func concatenate(file io.Writer, runs []run, partitions int, budget int64) (offsets []int64, err error) {
	size := int(min(max(budget/int64(len(runs)+1), minMergeBuffer), maxMergeBuffer))
	inputs := make([]*bufio.Reader, len(runs))
	for i, r := range runs {
		input, err := os.Open(r.path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = input.Close() }() // it was only read
		inputs[i] = bufio.NewReaderSize(input, size)
	}
	output := bufio.NewWriterSize(file, size)
	offsets = make([]int64, partitions+1)
	for p := range partitions {
		end := offsets[p]
		for i, r := range runs {
			n := r.offsets[p+1] - r.offsets[p]
			if copied, err := io.CopyN(output, inputs[i], n); err != nil {
				if err == io.EOF {
					err = fmt.Errorf("%s: %w: it ends at byte %d instead of %d", r.path, block.ErrDamaged, r.offsets[p]+copied, r.offsets[len(r.offsets)-1])
				}
				return nil, err
			}
			end += n
		}
		offsets[p+1] = end
	}
	return offsets, output.Flush()
}

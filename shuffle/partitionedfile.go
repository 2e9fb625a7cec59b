package shuffle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bobbin-yarn/bobbin/block"
)

// partitionedFile is a file with some of a Writer's records, in the order of their partitions.
type partitionedFile struct {
	path    string
	offsets []int64 // where each partition begins, and where the last one ends
}

// createPartitionedFile creates a file and calls write, which must add records in the order of
// their partitions. If createPartitionedFile fails, it removes the file.
func (w *Writer) createPartitionedFile(write func(*partitionedFileWriter) error) (partitionedFile, error) {
	directory, err := w.service.Directory()
	if err != nil {
		return partitionedFile{}, err
	}
	file, err := os.CreateTemp(directory, fmt.Sprintf("%s%s-run-*", sectionPrefix, w.id))
	if err != nil {
		return partitionedFile{}, err
	}
	r := partitionedFileWriter{blocks: NewBlockWriter(file), offsets: make([]int64, 1, w.partitions+1)}
	defer r.blocks.Release()
	if err = write(&r); err == nil {
		err = r.end(w.partitions)
	}
	if err == nil {
		err = r.blocks.flush()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(file.Name()) // if Remove fails, Service.Close removes the file with its directory
		return partitionedFile{}, err
	}
	return partitionedFile{path: file.Name(), offsets: r.offsets}, nil
}

// partitionedFileWriter writes the blocks of a partitionedFile, or of a sealed data file.
type partitionedFileWriter struct {
	blocks  *BlockWriter
	offsets []int64     // offsets at which the current partition and the previous ones begin
	seal    *sealWriter // writes to the file, if it is sealed; otherwise nil
}

// add adds frames to a partition, which must be the current partition or a later one.
func (r *partitionedFileWriter) add(partition int, frames []byte) error {
	if err := r.end(partition); err != nil {
		return err
	}
	return r.blocks.add(frames)
}

// end ends all partitions before the given one.
func (r *partitionedFileWriter) end(partition int) error {
	for len(r.offsets) <= partition {
		if err := r.blocks.endBlock(); err != nil {
			return err
		}
		r.offsets = append(r.offsets, r.blocks.offset)
		if r.seal != nil {
			if err := errors.Join(r.blocks.flush(), r.seal.endSection()); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	minMergeBuffer = 4 << 10
	maxMergeBuffer = 256 << 10
)

// concatenate writes all blocks of the spills to a file, ordered by partition. It returns the
// offsets of the partitions. It uses about budget bytes of memory.
func concatenate(file io.Writer, spills []partitionedFile, partitions int, budget int64) (offsets []int64, err error) {
	size := int(min(max(budget/int64(len(spills)+1), minMergeBuffer), maxMergeBuffer))
	inputs := make([]*bufio.Reader, len(spills))
	for i, r := range spills {
		input, err := os.Open(r.path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = input.Close() }() // an error loses no data, because the file was only read
		inputs[i] = bufio.NewReaderSize(input, size)
	}
	output := bufio.NewWriterSize(file, size)
	offsets = make([]int64, partitions+1)
	for p := range partitions {
		end := offsets[p]
		for i, r := range spills {
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
		if seal, ok := file.(*sealWriter); ok {
			if err := errors.Join(output.Flush(), seal.endSection()); err != nil {
				return nil, err
			}
		}
	}
	return offsets, output.Flush()
}

package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"path"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/shuffle"
	"github.com/bobbin-yarn/bobbin/storage"
)

// The files of a checkpoint are the parts of a storage.Output. Each task writes one part,
// and the driver writes the last one, the index. All parts begin with checkpointMagic. In
// the part of a task, blocks of records in the format of package shuffle follow. The
// records have empty keys, and their values are the encoded elements. The blocks of each
// partition are contiguous.
const checkpointMagic = "bobbinCP"

var errInvalidCheckpoint = errors.New("remove the checkpoint, and make it again")

// checkpointIndex describes the partitions of a checkpoint.
type checkpointIndex struct {
	_       struct{}  `cbor:",toarray"`
	Hashed  bool      // whether the elements are partitioned by the hash of their keys
	Lengths [][]int64 // for each part, the number of bytes of each of its partitions
}

// write writes the index to output as a part of its own, with the given number.
func (c checkpointIndex) write(ctx context.Context, output *storage.Output, part int) error {
	file, err := output.Part(ctx, part, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Abort() }() // no effect after Commit
	encoded, err := codec.Encode(c)
	if err != nil {
		return err
	}
	content := binary.BigEndian.AppendUint32([]byte(checkpointMagic), crc32.ChecksumIEEE(encoded))
	if _, err := file.Write(append(content, encoded...)); err != nil {
		return err
	}
	return file.Commit()
}

func readIndex(ctx context.Context, files *storage.Files, path string) (index checkpointIndex, err error) {
	file, err := files.Open(ctx, path)
	if err != nil {
		return index, err
	}
	content, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return index, err
	}
	rest, ok := bytes.CutPrefix(content, []byte(checkpointMagic))
	if !ok || len(rest) < 4 || binary.BigEndian.Uint32(rest) != crc32.ChecksumIEEE(rest[4:]) {
		return index, errors.New("it is not the index that the last part of a checkpoint is: that is missing or damaged")
	}
	return codec.Decode[checkpointIndex](rest[4:])
}

// openCheckpoint returns the splits of each partition of a checkpoint. hashed reports
// whether elements are partitioned by the hash of their keys. openCheckpoint fails if a
// part is missing, or if its length is not that in the index.
func openCheckpoint(ctx context.Context, files *storage.Files, uri string) (partitions [][]storage.Split, hashed bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("checkpoint %s: %w", uri, err)
		}
	}()
	listed, err := files.Splits(ctx, uri, storage.SplitOptions{Size: math.MaxInt64})
	if err != nil {
		return nil, false, err
	}
	byName := map[string]storage.Split{}
	for _, split := range listed {
		byName[path.Base(split.Path)] = split
	}
	parts := make([]storage.Split, len(listed))
	for i := range parts {
		name := fmt.Sprintf("part-%05d", i)
		if _, found := byName[name]; !found {
			return nil, false, fmt.Errorf("%s is missing", name)
		}
		parts[i] = byName[name]
	}
	last := len(parts) - 1
	if last < 0 {
		return nil, false, errors.New("it has no files")
	}
	index, err := readIndex(ctx, files, parts[last].Path)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", parts[last].Path, err)
	}
	if len(index.Lengths) != last {
		return nil, false, fmt.Errorf("it has %d parts, but had %d when it was written", last, len(index.Lengths))
	}
	for i, lengths := range index.Lengths {
		offset := int64(len(checkpointMagic))
		for _, length := range lengths {
			split := parts[i]
			split.Offset, split.Length = offset, length
			partitions = append(partitions, []storage.Split{split})
			offset += length
		}
		if parts[i].Length != offset {
			return nil, false, fmt.Errorf("%s has %d bytes, but had %d when it was written: %w", parts[i].Path, parts[i].Length, offset, errInvalidCheckpoint)
		}
	}
	return partitions, index.Hashed, nil
}

// readElements calls visit with each encoded element of a partition of a checkpoint, until
// visit returns false or an error. The bytes of an element are valid until visit returns.
func readElements(ctx context.Context, split storage.Split, visit func(element []byte) (more bool, err error)) error {
	if split.Length == 0 {
		return nil
	}
	file, err := storage.From(ctx).Open(ctx, split.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return permanentError{err}
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	if _, err := file.Seek(split.Offset, io.SeekStart); err != nil {
		return err
	}
	for records, err := range shuffle.ReadBlocks(file, split.String(), split.Length) {
		if errors.Is(err, block.ErrDamaged) {
			return permanentError{fmt.Errorf("%w: %w", err, errInvalidCheckpoint)}
		}
		if err != nil {
			return err
		}
		for _, element, ok := records.Next(); ok; _, element, ok = records.Next() {
			if more, err := visit(element); !more || err != nil {
				return err
			}
		}
	}
	return nil
}

package shuffle

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
)

// section is a range of an open data file: a partition from some offset to its end, or the
// whole file.
type section struct {
	file   dataFile
	name   string // the file's path
	offset int64  // offset in the file of the section's first byte
	size   int64
}

// dataFile is an open data file. Only one goroutine may use it.
type dataFile interface {
	io.ReaderAt
	io.Closer
}

// openData opens a data file. If the file is sealed, reads return decrypted bytes. offsets are
// the sections' offsets in the decrypted file.
func (s *Service) openData(path string, offsets []int64) (dataFile, error) {
	file, err := os.Open(path)
	if err != nil || !isSealed(path) {
		return file, err
	}
	if s.node == nil {
		_ = file.Close() // an error loses no data, because nothing was written
		return nil, fmt.Errorf("%s: %w", path, errNoNodes)
	}
	return newSealedFile(file, s.node.seal(path), offsets), nil
}

// openSection opens a partition of a data file from an offset to the partition's end. It fails
// with block.ErrNotFound if the partition does not exist, and with block.ErrDamaged if the
// index is damaged.
func (s *Service) openSection(data string, partition int, offset int64) (*section, error) {
	offsets, err := s.indexes.get(data)
	if err != nil {
		return nil, err
	}
	if partition < 0 || partition >= len(offsets)-1 || offset > offsets[partition+1]-offsets[partition] {
		return nil, fmt.Errorf("%s: %w: partition %d from byte %d on", data, block.ErrNotFound, partition, offset)
	}
	file, err := s.openData(data, offsets)
	if err != nil {
		return nil, err
	}
	begin := offsets[partition] + offset
	return &section{file: file, name: data, offset: begin, size: offsets[partition+1] - begin}, nil
}

// Open opens a block for the data port: a section or a file of a map output of this service,
// or a block of Options.Store. It fails with block.ErrNotFound if the output is unknown or its
// files are missing, and with block.ErrDamaged if they are damaged.
func (s *Service) Open(id block.ID) (transfer.Content, error) {
	if s == nil {
		return nil, fmt.Errorf("open block %s: %w", id, block.ErrNotFound)
	}
	if mapID, suffix, ok := parseFile(id); ok {
		return s.openFile(mapID, suffix)
	}
	mapID, partition, offset, ok := parseSection(id)
	if !ok {
		if s.options.Store == nil {
			return nil, fmt.Errorf("open block %s: %w", id, block.ErrNotFound)
		}
		return transfer.FromStore(s.options.Store)(id)
	}
	data, ok := s.lookUp(mapID)
	if !ok {
		return nil, fmt.Errorf("open block %s: %w", id, block.ErrNotFound)
	}
	opened, err := s.openSection(data, partition, offset)
	if err != nil {
		return nil, openError(id, err)
	}
	return opened, nil
}

// openError translates err, the error of a file, to the error that Open returns.
func openError(id block.ID, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("%w: %w", block.ErrNotFound, err)
	case !errors.Is(err, block.ErrNotFound) && !errors.Is(err, block.ErrDamaged):
		err = fmt.Errorf("%w: %w", block.ErrDamaged, err)
	}
	return fmt.Errorf("open block %s: %w", id, err)
}

// Size implements transfer.Content.
func (s *section) Size() int64 { return s.size }

// ReadChunk implements transfer.Content. The returned checksum protects the transfer. In
// addition, each block of a section contains a checksum, which the receiver also checks.
func (s *section) ReadChunk(i int64, p []byte) (checksum uint32, err error) {
	if _, err := s.file.ReadAt(p, s.offset+i*block.ChunkSize); err != nil {
		return 0, fmt.Errorf("%w: %s at byte %d: %w", block.ErrDamaged, s.name, s.offset+i*block.ChunkSize, err)
	}
	return block.Checksum(p), nil
}

// Release implements transfer.Content.
func (s *section) Release() { _ = s.file.Close() } // an error loses no data, because the file was only read

package shuffle

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
)

// Adopt copies a map output of another executor, which will stop, to this executor and returns
// the copy. The copy has the same MapID and is served by this service. If the other executor
// is on this host and its files are readable, Adopt reads the files; otherwise it fetches them
// from the executor. It verifies all checksums. If the output cannot be read, Adopt removes
// the incomplete copy and fails. The error then wraps block.ErrNotFound, block.ErrDamaged,
// transfer.ErrUnreachable or an error of a file.
func (s *Service) Adopt(ctx context.Context, output Output) (Output, error) {
	if s == nil {
		return Output{}, errNoService
	}
	if output.Path != "" {
		path, err := s.adopt(ctx, &output)
		if err != nil {
			return Output{}, fmt.Errorf("adopt map output %s of executor %s on %s: %w", output.MapID, output.ExecutorID, output.Host, err)
		}
		output.Path = path
	}
	output.ExecutorID, output.Host, output.Address, output.Node = s.options.ExecutorID, s.options.Host, s.options.Address, ""
	return output, nil
}

// adopt copies the files of an output, unless this service already has them, and registers the
// copy. It returns the path of the data file.
func (s *Service) adopt(ctx context.Context, output *Output) (path string, err error) {
	if path, ok := s.lookUp(output.MapID); ok {
		return path, nil
	}
	directory, err := s.Directory()
	if err != nil {
		return "", err
	}
	path = filepath.Join(directory, string(fileID(output.MapID, dataSuffix)))
	index, err := create(indexPath(path)) // an existing index file means that the data file's name is in use too
	if err != nil {
		return "", err
	}
	data, err := create(path)
	if err == nil {
		err = errors.Join(s.copyFiles(ctx, output, index, data), data.Close())
	}
	err = errors.Join(err, index.Close())
	if err == nil {
		err = s.register(output.MapID, path)
	}
	if err != nil {
		s.removeFiles(path)
		return "", err
	}
	return path, nil
}

// copyFiles copies the index file and the data file of an output to the writers index and data.
func (s *Service) copyFiles(ctx context.Context, output *Output, index, data io.Writer) error {
	copies := []func(wholeFile) error{
		func(from wholeFile) error { return copyIndex(index, from, output.Bytes) },
		func(from wholeFile) error { return copyBlocks(ctx, data, from, output) },
	}
	files := s.peerFiles(ctx, output)
	if s.isOnThisHost(output) {
		files = s.localFiles(output)
	}
	for from, err := range files {
		if err == nil {
			err = copies[0](from)
		}
		if err != nil {
			return err
		}
		copies = copies[1:]
	}
	return nil
}

// wholeFile is a reader of a whole file, with the file's size.
type wholeFile struct {
	io.Reader
	size int64
}

// localFiles yields the index file and the data file of an output on this host.
func (s *Service) localFiles(output *Output) iter.Seq2[wholeFile, error] {
	return func(yield func(wholeFile, error) bool) {
		if isSealed(output.Path) {
			for _, suffix := range []string{indexSuffix, dataSuffix} {
				if !s.openUnsealed(output.Path, suffix, yield) {
					return
				}
			}
			return
		}
		for _, path := range []string{indexPath(output.Path), output.Path} {
			if !openWholeFile(path, yield) {
				return
			}
		}
	}
}

func openWholeFile(path string, yield func(wholeFile, error) bool) bool {
	file, err := os.Open(path)
	if err != nil {
		return yield(wholeFile{}, err)
	}
	defer func() { _ = file.Close() }() // an error loses no data, because the file was only read
	info, err := file.Stat()
	if err != nil {
		return yield(wholeFile{}, err)
	}
	return yield(wholeFile{file, info.Size()}, nil)
}

func (s *Service) openUnsealed(path, suffix string, yield func(wholeFile, error) bool) bool {
	opened, err := s.unsealedFile(path, suffix)
	if err != nil {
		return yield(wholeFile{}, err)
	}
	defer opened.Release()
	return yield(wholeFile{io.NewSectionReader(opened.file, 0, opened.size), opened.size}, nil)
}

// unsealedFile opens a sealed data file, from which reads return decrypted bytes. path is the
// path of the data file. If suffix is indexSuffix, unsealedFile instead returns the index of
// that file, with the offsets of the decrypted sections.
func (s *Service) unsealedFile(path, suffix string) (*section, error) {
	offsets, err := s.indexes.get(path)
	if err != nil {
		return nil, err
	}
	if suffix == indexSuffix {
		encoded := encodeIndex(offsets)
		return &section{file: memoryFile{bytes.NewReader(encoded)}, name: indexPath(path), size: int64(len(encoded))}, nil
	}
	file, err := s.openData(path, offsets)
	if err != nil {
		return nil, err
	}
	return &section{file: file, name: path, size: offsets[len(offsets)-1]}, nil
}

// memoryFile implements dataFile with bytes in memory.
type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

// peerFiles yields the index file and the data file of an output. It fetches both from the
// output's executor.
func (s *Service) peerFiles(ctx context.Context, output *Output) iter.Seq2[wholeFile, error] {
	return func(yield func(wholeFile, error) bool) {
		if s.options.Peers == nil {
			yield(wholeFile{}, errNoClient)
			return
		}
		ids := []block.ID{fileID(output.MapID, indexSuffix), fileID(output.MapID, dataSuffix)}
		for got, err := range s.options.Peers.Fetch(ctx, output.Address, ids...) {
			if err != nil {
				yield(wholeFile{}, err)
				return
			}
			if !yield(wholeFile{got, got.Size}, nil) {
				return
			}
		}
	}
}

// openFile opens a file of an output of this service. suffix determines whether it opens the
// data file or the index file. Its errors are those of Open.
func (s *Service) openFile(id MapID, suffix string) (transfer.Content, error) {
	path, ok := s.lookUp(id)
	if !ok {
		return nil, fmt.Errorf("open block %s: %w", fileID(id, suffix), block.ErrNotFound)
	}
	if isSealed(path) {
		opened, err := s.unsealedFile(path, suffix)
		if err != nil {
			return nil, openError(fileID(id, suffix), err)
		}
		return opened, nil
	}
	if suffix == indexSuffix {
		path = indexPath(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, openError(fileID(id, suffix), err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close() // an error loses no data, because nothing was written
		return nil, openError(fileID(id, suffix), err)
	}
	return &section{file: file, name: path, size: info.Size()}, nil
}

// copyIndex copies an index file. It fails unless the index describes a data file of
// exactly the given number of bytes.
func copyIndex(to io.Writer, from wholeFile, bytes int64) error {
	if from.size > maxIndexFile {
		return fmt.Errorf("%w: an index cannot have %d bytes", block.ErrDamaged, from.size)
	}
	encoded := make([]byte, from.size)
	if _, err := io.ReadFull(from, encoded); err != nil {
		return err
	}
	offsets, err := decodeIndex(encoded)
	if err != nil {
		return err
	}
	if end := offsets[len(offsets)-1]; end != bytes {
		return fmt.Errorf("%w: the index has %d bytes of data, but the output %d", block.ErrDamaged, end, bytes)
	}
	_, err = to.Write(encoded)
	return err
}

// copyBlocks copies the data file of an output and verifies the checksums of its blocks.
func copyBlocks(ctx context.Context, to io.Writer, from wholeFile, output *Output) error {
	if from.size != output.Bytes {
		return fmt.Errorf("%w: the data file has %d bytes, but the output %d", block.ErrDamaged, from.size, output.Bytes)
	}
	input := fileReaders.Get().(*bufio.Reader)
	input.Reset(io.TeeReader(from, to))
	var stored []byte
	defer func() {
		input.Reset(nil)
		fileReaders.Put(input)
		putBuffer(stored)
	}()
	blocks := blockReader{input: input, name: output.Path, left: from.size}
	for {
		h, err := blocks.header()
		if err == io.EOF {
			return nil
		}
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if cap(stored) < h.storedSize {
			putBuffer(stored)
			stored = getBuffer(h.storedSize)
		}
		if err := blocks.body(&h, stored[:h.storedSize]); err != nil {
			return err
		}
	}
}

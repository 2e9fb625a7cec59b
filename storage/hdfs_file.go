package storage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/bobbin-yarn/bobbin/storage/internal/stream"
)

// hdfsFile reads a file in HDFS.
type hdfsFile struct {
	system  *hdfsSystem
	ctx     context.Context
	release func() // ends ctx
	path    string
	info    Info

	mu     sync.Mutex // guards reader and offset
	reader *stream.Reader
	offset int64 // file offset of the next Read

	readerAtMu sync.Mutex // guards readerAt
	readerAt   *stream.Reader

	closing sync.Once
}

func (f *hdfsFile) Stat() Info { return f.info }

func (f *hdfsFile) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.reader.ReadFrom(p, f.offset)
	f.offset += int64(n)
	return n, f.wrapError(err)
}

func (f *hdfsFile) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, f.wrapError(errors.New("negative offset"))
	}
	f.readerAtMu.Lock()
	defer f.readerAtMu.Unlock()
	read := 0
	for read < len(p) {
		n, err := f.readerAt.ReadFrom(p[read:], offset+int64(read))
		read += n
		if err != nil {
			return read, f.wrapError(err)
		}
	}
	return read, nil
}

func (f *hdfsFile) Seek(offset int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.info.Size
	default:
		return 0, &fs.PathError{Op: "seek", Path: f.info.Path, Err: errors.New("unknown whence")}
	}
	if offset < 0 {
		return 0, &fs.PathError{Op: "seek", Path: f.info.Path, Err: errors.New("negative offset")}
	}
	f.offset = offset
	return offset, nil
}

// Close may be called during a Read in another goroutine; the Read then fails.
func (f *hdfsFile) Close() error {
	err := error(&fs.PathError{Op: "close", Path: f.info.Path, Err: fs.ErrClosed})
	f.closing.Do(func() {
		f.release()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.reader.Close()
		f.readerAtMu.Lock()
		defer f.readerAtMu.Unlock()
		f.readerAt.Close()
		err = nil
	})
	return err
}

func (f *hdfsFile) wrapError(err error) error {
	if err == nil || isEOF(err) {
		return err
	}
	return f.system.wrapError(f.ctx, "read", f.path, err)
}

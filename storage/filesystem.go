package storage

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// Info describes a file or a directory.
type Info struct {
	// Path is the full URI, such as "hdfs://cluster1/logs/a.txt".
	Path string
	// Name is the last part of Path.
	Name string
	// Size in bytes; 0 for a directory.
	Size int64
	// ModTime is when the content was last changed. HDFS keeps milliseconds.
	ModTime time.Time
	// AccessTime is when it was last read, as precisely as the file system
	// keeps track: HDFS by default to the hour.
	AccessTime time.Time
	// Dir tells a directory from a file.
	Dir bool
	// Mode holds the permission bits and, for a directory, fs.ModeDir.
	Mode fs.FileMode
	// Owner is the user it belongs to in HDFS; empty on the local disk.
	Owner string
	// BlockSize of a file in bytes: in HDFS the size of the blocks it is stored
	// in, 0 on the local disk.
	BlockSize int64
}

// File is an open file to read. Read and Seek are for one goroutine at a time;
// ReadAt may be called concurrently and does not move the position of Read.
type File interface {
	io.Reader
	io.ReaderAt
	io.Seeker
	io.Closer
	// Stat describes the file as it was when it was opened.
	Stat() Info
}

// fileSystem is what Files needs of a file system. Paths are absolute and
// clean; errors are *fs.PathError with the full URI.
type fileSystem interface {
	open(ctx context.Context, path string) (File, error)
	create(ctx context.Context, path string, settings createSettings) (sink, error)
	// stat describes one file or directory, with the file's blocks if asked.
	stat(ctx context.Context, path string, withBlocks bool) (entry, error)
	// list returns the entries of a directory in any order.
	list(ctx context.Context, path string, withBlocks bool) ([]entry, error)
	mkdirAll(ctx context.Context, path string, perm fs.FileMode) error
	// rename fails with fs.ErrExist where to exists, whatever it is.
	rename(ctx context.Context, from, to string) error
	// remove fails with fs.ErrNotExist if there is nothing, and without
	// recursive if the directory is not empty.
	remove(ctx context.Context, path string, recursive bool) error
	// setTimes leaves a zero time as it is.
	setTimes(ctx context.Context, path string, accessed, modified time.Time) error
	close() error
}

// sink takes a new file's content.
type sink interface {
	io.Writer
	// Close completes the file and reports what went wrong with any write.
	Close() error
	// Abort ends the writing and removes the file.
	Abort() error
}

// entry is an Info and where the file's bytes are. Local files have no blocks.
type entry struct {
	Info
	blocks []block
}

// block is a stored range of a file and the hosts that hold a copy of it.
type block struct {
	offset, length int64
	hosts          []string
}

// createSettings is what the CreateOptions come to.
type createSettings struct {
	overwrite   bool
	noParents   bool
	perm        fs.FileMode
	replication int
	blockSize   int64
}

// CreateOption changes how [Files.Create] makes a file.
type CreateOption func(*createSettings)

// Overwrite replaces a file that exists already; without it Create fails with
// fs.ErrExist. The old content is gone from the moment Create returns.
func Overwrite() CreateOption { return func(s *createSettings) { s.overwrite = true } }

// Perm sets the permission bits of the new file; by default 0644.
func Perm(perm fs.FileMode) CreateOption { return func(s *createSettings) { s.perm = perm.Perm() } }

// Replication sets how many copies HDFS keeps; by default what the cluster
// configures. The local disk keeps one.
func Replication(n int) CreateOption { return func(s *createSettings) { s.replication = n } }

// BlockSize sets the size in bytes of the file's blocks in HDFS, a multiple
// of 512; by default what the cluster configures. It means nothing on the
// local disk.
func BlockSize(n int64) CreateOption { return func(s *createSettings) { s.blockSize = n } }

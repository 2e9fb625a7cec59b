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
	// ModTime is when the content was last changed. HDFS stores milliseconds.
	ModTime time.Time
	// AccessTime is when the content was last read, as precisely as it is recorded:
	// in HDFS by default to the hour (dfs.namenode.accesstime.precision).
	AccessTime time.Time
	// Dir is true for a directory.
	Dir bool
	// Mode is the permission bits and, for a directory, fs.ModeDir.
	Mode fs.FileMode
	// Owner is the name of the owner in HDFS; empty on the local disk.
	Owner string
	// BlockSize is the size in bytes of a file's blocks in HDFS; 0 on the local
	// disk.
	BlockSize int64
}

// File is a file that is open for reading. Read and Seek must not be called
// concurrently; ReadAt may be, and does not change the position of Read.
type File interface {
	io.Reader
	io.ReaderAt
	io.Seeker
	io.Closer
	// Stat returns the file's Info at the time when it was opened.
	Stat() Info
}

// fileSystem is HDFS or the local disk, as [Files] uses it. Paths are absolute and
// clean; errors are *fs.PathError with the full URI.
type fileSystem interface {
	open(ctx context.Context, path string) (File, error)
	create(ctx context.Context, path string, settings createSettings) (sink, error)
	// stat describes one file or directory; withBlocks includes the blocks of a
	// file.
	stat(ctx context.Context, path string, withBlocks bool) (entry, error)
	// list returns the entries of a directory in any order.
	list(ctx context.Context, path string, withBlocks bool) ([]entry, error)
	mkdirAll(ctx context.Context, path string, perm fs.FileMode) error
	// rename moves a file or directory. It fails with fs.ErrExist if to exists.
	rename(ctx context.Context, from, to string) error
	// remove fails with fs.ErrNotExist if path does not exist. It also fails for a
	// directory that is not empty, unless recursive is true.
	remove(ctx context.Context, path string, recursive bool) error
	// setTimes sets the two times of a file or directory; a zero time leaves the
	// current one unchanged.
	setTimes(ctx context.Context, path string, accessed, modified time.Time) error
	close() error
}

// sink writes a new file.
type sink interface {
	io.Writer
	// Close completes the file. It returns the error of any failed write.
	Close() error
	// Abort gives up writing and removes the file.
	Abort() error
}

// entry is an Info with the file's blocks. Local files have none.
type entry struct {
	Info
	blocks []block
}

// block is a range of a file and the hosts that store a copy of it.
type block struct {
	offset, length int64
	hosts          []string
}

// createSettings holds the values that the CreateOptions set.
type createSettings struct {
	overwrite   bool
	noParents   bool
	perm        fs.FileMode
	replication int
	blockSize   int64
}

// CreateOption is an option of [Files.Create].
type CreateOption func(*createSettings)

// Overwrite lets [Files.Create] replace an existing file; without it, Create fails
// with fs.ErrExist. The old content is lost as soon as Create returns, even if the
// new file is then aborted.
func Overwrite() CreateOption { return func(s *createSettings) { s.overwrite = true } }

// Perm sets the permission bits of the new file; by default 0644.
func Perm(perm fs.FileMode) CreateOption { return func(s *createSettings) { s.perm = perm.Perm() } }

// Replication sets the number of copies in HDFS; by default dfs.replication, or
// else the NameNode's default. It has no effect on the local disk.
func Replication(n int) CreateOption { return func(s *createSettings) { s.replication = n } }

// BlockSize sets the size in bytes of the file's blocks in HDFS, a multiple of 512;
// by default dfs.blocksize, or else the NameNode's default. It has no effect on the
// local disk.
func BlockSize(n int64) CreateOption { return func(s *createSettings) { s.blockSize = n } }

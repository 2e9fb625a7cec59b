package storage

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// Info describes a file or a directory.
type Info struct {
	Path    string    // full URI, such as "hdfs://cluster1/logs/a.txt"
	Name    string    // last element of Path
	Size    int64     // in bytes; 0 for a directory
	ModTime time.Time // when the content was last changed; HDFS stores whole milliseconds
	// AccessTime is when the content was last read. By default, HDFS updates this time at most
	// once an hour (dfs.namenode.accesstime.precision).
	AccessTime time.Time
	Dir        bool        // whether it is a directory
	Mode       fs.FileMode // permission bits and, for a directory, fs.ModeDir
	Owner      string      // name of the owner in HDFS, numeric user ID on a local disk of Linux; else ""
	BlockSize  int64       // size in bytes of a file's blocks in HDFS; 0 on the local disk
}

// File is a file that is open for reading. Calls of Read and Seek must not be concurrent. ReadAt
// may be called concurrently, and does not change the position of Read.
type File interface {
	io.Reader
	io.ReaderAt
	io.Seeker
	io.Closer
	// Stat returns the file's Info at the time when it was opened.
	Stat() Info
}

// fileSystem is HDFS or the local disk. Arguments are absolute and clean paths. Errors are
// *fs.PathError with the full URI.
type fileSystem interface {
	open(ctx context.Context, path string) (File, error)
	create(ctx context.Context, path string, settings createSettings) (sink, error)
	// stat returns one file or directory; with the blocks of a file if withBlocks is true.
	stat(ctx context.Context, path string, withBlocks bool) (entry, error)
	// list returns the entries of a directory in any order.
	list(ctx context.Context, path string, withBlocks bool) ([]entry, error)
	mkdirAll(ctx context.Context, path string, perm fs.FileMode) error
	// rename moves a file or directory. It fails with fs.ErrExist if the destination exists.
	rename(ctx context.Context, from, to string) error
	// remove fails with fs.ErrNotExist if path does not exist. If recursive is false, it also
	// fails for a directory that is not empty.
	remove(ctx context.Context, path string, recursive bool) error
	// setTimes sets the times of a file or directory. A zero time leaves that time unchanged.
	setTimes(ctx context.Context, path string, accessed, modified time.Time) error
	close() error
}

// sink writes a new file.
type sink interface {
	io.Writer
	// Flush makes the written data visible to readers that open the file afterwards.
	Flush() error
	// Close completes the file. It returns the error of any failed write.
	Close() error
	// Abort stops writing and removes the file.
	Abort() error
	// Abandon stops writing and leaves the file with the flushed data.
	Abandon() error
}

// entry is an Info with the file's blocks. Local files have no blocks.
type entry struct {
	Info
	blocks []block
}

// block is a range of a file, with the hosts that store a replica of it.
type block struct {
	offset, length int64
	hosts          []string
}

// createSettings contains the settings of [CreateOption]s.
type createSettings struct {
	overwrite   bool
	noParents   bool
	perm        fs.FileMode
	replication int
	blockSize   int64
}

// CreateOption is an option of [Files.Create].
type CreateOption func(*createSettings)

// Overwrite makes [Files.Create] replace an existing file instead of failing with fs.ErrExist.
// The old content is lost even if the new file is aborted.
func Overwrite() CreateOption { return func(s *createSettings) { s.overwrite = true } }

// ExistingParent makes [Files.Create] fail with fs.ErrNotExist if the directory of the new file
// does not exist, instead of creating the directory.
func ExistingParent() CreateOption { return func(s *createSettings) { s.noParents = true } }

// Perm sets the permission bits of the new file; by default 0644.
func Perm(perm fs.FileMode) CreateOption { return func(s *createSettings) { s.perm = perm.Perm() } }

// Replication sets the number of replicas in HDFS. The default is dfs.replication or, if that is
// not set, the NameNode's default.
func Replication(n int) CreateOption { return func(s *createSettings) { s.replication = n } }

// BlockSize sets the size in bytes of the file's blocks in HDFS, a multiple of 512. The default
// is dfs.blocksize or, if that is not set, the NameNode's default.
func BlockSize(n int64) CreateOption { return func(s *createSettings) { s.blockSize = n } }

// Package aggregatedlog reads YARN's aggregated logs: files in HDFS to which
// NodeManagers write the logs of an application's containers. Each NodeManager
// writes one or more files for an application, as TFiles or in the indexed format.
//
// The formats are those of AggregatedLogFormat.java, LogAggregationUtils.java and
// LogAggregationIndexedFileController.java of hadoop-yarn-common 3.3 to 3.5.
package aggregatedlog

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/tfile"
)

// ErrFormat means that a file is neither a valid TFile nor a valid indexed file of logs.
var ErrFormat = errors.New("no aggregated logs that can be read")

// Entry is one log file of a container.
type Entry struct {
	Container string
	Name      string
	Size      int64     // bytes
	Modified  time.Time // zero if unknown, as in a TFile
	place     entryPosition
}

// entryPosition is the position of an entry's content in the file.
type entryPosition struct {
	block, record, part int   // in a TFile: index of the block, of the record in the block, of the log in the record
	offset, compressed  int64 // in the indexed format: offset and compressed size in bytes
}

// File is an open file of aggregated logs. It is not safe for concurrent use.
type File interface {
	// Entries returns the containers' log files, in their order in the file.
	Entries() []Entry
	// Open returns a reader of an entry's content. It invalidates the reader of the previous
	// call.
	Open(entry Entry) (io.Reader, error)
	// Owner returns the user of the application; "" if the file does not name it.
	Owner() string
}

// Open opens a file and lists the logs in it. size is the file's length in bytes. complete is
// the length in bytes of the file's valid part (see ReadChecksum), or negative if the file has
// no checksum file. application is the application's ID: an indexed file begins with the ID's
// SHA-256. Open reads all of a TFile, but only the end of an indexed file. It fails with
// ErrFormat if the file has another format or is truncated.
func Open(file io.ReaderAt, size, complete int64, application string) (File, error) {
	if complete >= 0 {
		size = min(size, complete)
	}
	head := make([]byte, sha256.Size)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	head = head[:min(int64(n), max(size, 0))]
	digest := sha256.Sum256([]byte(application))
	switch {
	case tfile.Is(head):
		return openTFile(file, size)
	case bytes.Equal(head, digest[:]):
		return openIndexed(file, size, digest)
	}
	return nil, fmt.Errorf("%w: it begins neither as a TFile nor as an indexed file of %s", ErrFormat, application)
}

// asFormatError returns an error that wraps both ErrFormat and err if err wraps format, a
// decoder's error for invalid input. It returns other errors unchanged.
func asFormatError(err, format error) error {
	if errors.Is(err, format) {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

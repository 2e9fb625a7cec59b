// Package aggregatedlog reads aggregated logs: the files in HDFS to which
// NodeManagers write the logs of an application's containers, one or more for each
// node, as TFiles or in the indexed format.
//
// Facts: AggregatedLogFormat.java, LogAggregationUtils.java and
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

// ErrFormat means that a file has neither format, or is damaged.
var ErrFormat = errors.New("no aggregated logs that can be read")

// Entry is one log file of a container.
type Entry struct {
	Container string
	Name      string
	Size      int64     // bytes
	Modified  time.Time // zero if the format does not have it
	place     place
}

// place is the position of an entry's content.
type place struct {
	block, record, part int   // in a TFile: of the block, and of the record
	offset, compressed  int64 // in the indexed format
}

// File is one file of aggregated logs. It is not safe for concurrent use.
type File interface {
	// Entries are its log files, in their order.
	Entries() []Entry
	// Open returns an entry's content. It ends the reading of the one before.
	Open(entry Entry) (io.Reader, error)
	// Owner is the application's user; "" if the file does not have it.
	Owner() string
}

// Open lists the logs of a file of size bytes. complete is the valid part of the
// file according to its checksum file (see ReadChecksum); negative for all of it.
// Open reads all of a TFile, and the end of an indexed file. It fails with
// ErrFormat if the file is of another format or not complete.
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

// problem wraps a decoder's error in ErrFormat. Errors of the file system stay as
// they are.
func problem(err, format error) error {
	if errors.Is(err, format) {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

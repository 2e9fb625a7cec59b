// Package aggregatedlog reads the files in which NodeManagers leave the logs of
// an application's containers in HDFS, one file a node or more: TFiles, and the
// indexed format.
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

// ErrFormat means that a file is of neither format, or damaged.
var ErrFormat = errors.New("no aggregated logs that can be read")

// Entry is one log file of a container.
type Entry struct {
	Container string
	Name      string
	Size      int64     // bytes
	Modified  time.Time // zero if the format does not tell
	place     place
}

// place is where an entry's content lies.
type place struct {
	block, record, part int   // in a TFile: of the block, and of the record
	offset, compressed  int64 // in the indexed format
}

// File is one file of aggregated logs. It is not safe for concurrent use.
type File interface {
	// Entries are the log files in it, as they lie there.
	Entries() []Entry
	// Open reads an entry's content. It ends the reading of one that was opened before.
	Open(entry Entry) (io.Reader, error)
	// Owner is whose application it was; "" where the file does not tell.
	Owner() string
}

// Open reads what logs a file of size bytes has. complete is how much of it
// counts where its node has told so (see ReadChecksum), below 0 for all of it. A
// TFile is read through for that, of an indexed file only its end. The error of
// a file that is none, or not complete, wraps ErrFormat.
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

// problem gives an error of a decoder the name of this package's; what is wrong
// with the file system stays as it is.
func problem(err, format error) error {
	if errors.Is(err, format) {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

package aggregatedlog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/javaserial"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/tfile"
)

// An indexed file begins with the SHA-256 of the application ID. The logs follow, each
// compressed separately, then the index (a serialized Java object), the length of the index in
// 4 bytes, and the SHA-256 again. A NodeManager can aggregate logs repeatedly while the
// application runs. Each time, it appends the new logs, an index, its length and the SHA-256.
// The last index lists the logs of the whole file.
const (
	indexTrailer = 4 + sha256.Size
	// maxIndex is the largest accepted index in bytes. NodeManagers log a warning for larger
	// indexes.
	maxIndex = 64 << 20
	// indexPackage is the prefix of the names of the index's Java classes.
	indexPackage = "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController$"
)

// indexedLogs is an open file in the indexed format.
type indexedLogs struct {
	file        io.ReaderAt
	size        int64
	compression string
	owner       string
	entries     []Entry
}

func openIndexed(file io.ReaderAt, size int64, digest [sha256.Size]byte) (*indexedLogs, error) {
	if size < sha256.Size+indexTrailer {
		return nil, fmt.Errorf("%w: an indexed file of %d bytes has no index: its node has not completed it", ErrFormat, size)
	}
	var trailer [indexTrailer]byte
	if _, err := file.ReadAt(trailer[:], size-indexTrailer); err != nil {
		return nil, err
	}
	length := int64(int32(binary.BigEndian.Uint32(trailer[:])))
	if !bytes.Equal(trailer[4:], digest[:]) || length <= 0 || length > min(maxIndex, size-sha256.Size-indexTrailer) {
		return nil, fmt.Errorf("%w: the indexed file does not end in an index: its node has not completed it", ErrFormat)
	}
	serialized := make([]byte, length)
	if _, err := file.ReadAt(serialized, size-indexTrailer-length); err != nil {
		return nil, err
	}
	value, err := javaserial.Decode(serialized)
	if err != nil {
		return nil, asFormatError(err, javaserial.ErrFormat)
	}
	logs := &indexedLogs{file: file, size: size}
	if err := logs.readIndex(value); err != nil {
		return nil, fmt.Errorf("%w: its index: %w", ErrFormat, err)
	}
	return logs, nil
}

func (i *indexedLogs) Entries() []Entry { return i.entries }

func (i *indexedLogs) Owner() string { return i.owner }

// readIndex appends the entries of an index to i.entries, ordered by the time of aggregation,
// then by container.
func (i *indexedLogs) readIndex(value any) error {
	index, err := objectOf(value, "IndexedLogsMeta")
	if err != nil {
		return err
	}
	i.compression = cmp.Or(text(index, "compressName"), "none")
	i.owner = text(index, "user")
	rounds, err := javaserial.List(index.Fields["logMetas"])
	if err != nil {
		return err
	}
	for _, value := range rounds {
		round, err := objectOf(value, "IndexedPerAggregationLogMeta")
		if err != nil {
			return err
		}
		containers, err := javaserial.Map(round.Fields["logMetas"])
		if err != nil {
			return err
		}
		slices.SortFunc(containers, func(a, b javaserial.Entry) int { return cmp.Compare(fmt.Sprint(a.Key), fmt.Sprint(b.Key)) })
		for _, container := range containers {
			if err := i.readContainer(container.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (i *indexedLogs) readContainer(value any) error {
	files, err := javaserial.List(value)
	if err != nil {
		return err
	}
	for _, value := range files {
		file, err := objectOf(value, "IndexedFileLogMeta")
		if err != nil {
			return err
		}
		entry := Entry{
			Container: text(file, "containerId"), Name: text(file, "fileName"), Size: number(file, "fileSize"),
			place: entryPosition{offset: number(file, "startIndex"), compressed: number(file, "fileCompressedSize")},
		}
		// Hadoop up to 3.2 misspells the name of the field.
		if millis := cmp.Or(number(file, "lastModifiedTime"), number(file, "lastModificatedTime")); millis > 0 {
			entry.Modified = time.UnixMilli(millis)
		}
		end := entry.place.offset + entry.place.compressed
		if entry.Size < 0 || entry.place.offset < 0 || entry.place.compressed < 0 || end < 0 || end > i.size {
			return fmt.Errorf("%s of %s is said to be %d bytes at %d of %d", entry.Name, entry.Container, entry.place.compressed, entry.place.offset, i.size)
		}
		i.entries = append(i.entries, entry)
	}
	return nil
}

func (i *indexedLogs) Open(entry Entry) (io.Reader, error) {
	section := io.NewSectionReader(i.file, entry.place.offset, entry.place.compressed)
	content, err := tfile.Decompress(i.compression, section, entry.Size)
	if err != nil {
		return nil, fmt.Errorf("%w: %s of %s: %w", ErrFormat, entry.Name, entry.Container, err)
	}
	return content, nil
}

func objectOf(value any, class string) (*javaserial.Object, error) {
	object, ok := value.(*javaserial.Object)
	if !ok {
		return nil, fmt.Errorf("there is no %s", class)
	}
	if object.Class != indexPackage+class {
		return nil, fmt.Errorf("there is an object of %s, not of %s", object.Class, class)
	}
	return object, nil
}

func text(object *javaserial.Object, field string) string {
	value, _ := object.Fields[field].(string)
	return value
}

func number(object *javaserial.Object, field string) int64 {
	value, _ := object.Fields[field].(int64)
	return value
}

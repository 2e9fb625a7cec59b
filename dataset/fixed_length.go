package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bobbin-yarn/bobbin/storage"
)

// FixedLength returns the records of files in which each record has the given number of
// bytes, with nothing between records. The job fails if the last record of a file is
// incomplete. [Text] describes how path selects files; [AsBytes] writes such files.
func FixedLength(p *Plan, path string, bytes int, options ...ReadOption) *Of[[]byte] {
	if bytes < 1 {
		p.reject("FixedLength", fmt.Errorf("the length of records is %d bytes: want at least 1", bytes))
		bytes = 1
	}
	records := Files(p, "FixedLength", path, func(in *FileSplit, emit func([]byte) bool) error {
		return readRecords(in.Task, in.Split, int64(bytes), emit)
	}, options...)
	records.node.arguments += fmt.Sprintf(", records of %d bytes", bytes)
	return records
}

// recordBuffer is the approximate number of bytes that are read from a file at a time.
const recordBuffer = 256 << 10

// readRecords calls emit with each record that begins in a split, until emit returns
// false. length is the number of bytes of a record.
func readRecords(ctx context.Context, split storage.Split, length int64, emit func([]byte) bool) error {
	file, first, bytes, err := openRecords(ctx, split, length)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	buffer := make([]byte, max(recordBuffer/length, 1)*length)
	for read := int64(0); read < bytes; {
		n, err := io.ReadFull(file, buffer[:min(bytes-read, int64(len(buffer)))])
		records := buffer[:n]
		for ; int64(len(records)) >= length; records = records[length:] {
			if !emit(records[:length:length]) {
				return nil
			}
		}
		switch read += int64(n); {
		case err == nil:
		case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			return err
		case len(records) > 0:
			return Malformed(fmt.Errorf("%s: the record at byte %d has %d bytes, not %d", split.Path, first+read-int64(len(records)), len(records), length))
		case split.Compression == "":
			return fmt.Errorf("%s: the file ends at byte %d: it has changed since the splits were made: %w", split.Path, first+read, io.ErrUnexpectedEOF)
		default:
			return nil
		}
	}
	return nil
}

// openRecords opens the file of a split at offset first, where the first record of the
// split begins. bytes is the number of bytes from first to the end of the split's last
// record. If the file is compressed, the split must be the whole file, and bytes is
// math.MaxInt64, because the decompressed size is not known.
func openRecords(ctx context.Context, split storage.Split, length int64) (file io.ReadCloser, first, bytes int64, err error) {
	if split.Compression != "" {
		if split.Compression == "bzip2" && (split.Offset > 0 || !split.Last) {
			return nil, 0, 0, Malformed(fmt.Errorf("%s: a part of a bzip2 file does not say where its records begin: read it with the option WholeFiles", split.Path))
		}
		file, err = split.Open(ctx)
		return file, 0, math.MaxInt64, err
	}
	aligned := func(at int64) int64 { return (at + length - 1) / length * length }
	first = aligned(split.Offset)
	opened, err := storage.From(ctx).Open(ctx, split.Path)
	if err != nil {
		return nil, 0, 0, err
	}
	if _, err := opened.Seek(first, io.SeekStart); err != nil {
		return nil, 0, 0, errors.Join(err, opened.Close())
	}
	return opened, first, aligned(split.Offset+split.Length) - first, nil
}

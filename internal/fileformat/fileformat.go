// Package fileformat recognizes files that are not text by their content.
package fileformat

import (
	"bytes"
	"errors"
	"io"
	"path"
)

// Format is the format of a file.
type Format string

const (
	Unknown Format = "" // for example text
	Avro    Format = "Avro"
	ORC     Format = "ORC"
	Parquet Format = "Parquet"
)

// ORCAdvice says what to do with an ORC file.
const ORCAdvice = "ORC is not read; write the data as Parquet, for example with Spark"

// signatures has the bytes at the beginning and near the end of files in each format. Text may
// begin with "ORC" or "PAR1", too. The last byte of an ORC file is the length of its postscript.
// The last field of the postscript is the string "ORC", with its length before it.
var signatures = []struct {
	format     Format
	begin, end string
	after      int64 // number of bytes after end
}{
	{Avro, "Obj\x01", "", 0},
	{ORC, "ORC", "\x03ORC", 1},
	{Parquet, "PAR1", "PAR1", 0},
}

// bySuffix has the formats of files by the suffixes of their names.
var bySuffix = map[string]Format{".avro": Avro, ".orc": ORC, ".parquet": Parquet}

// OfName returns the format that the name of a file shows by its suffix.
func OfName(name string) Format { return bySuffix[path.Ext(name)] }

// BeginLength is how many bytes of a file MayBegin needs.
const BeginLength = 4

// MayBegin reports whether begin, the first bytes of a file, may be those of a file with a known
// format. Of reports whether they are.
func MayBegin(begin []byte) bool {
	for _, s := range signatures {
		if bytes.HasPrefix(begin, []byte(s.begin)) {
			return true
		}
	}
	return false
}

// Of returns the format of a file with the given size in bytes. It fails if the file cannot be
// read.
func Of(file io.ReaderAt, size int64) (Format, error) {
	begin, err := read(file, 0, BeginLength)
	if err != nil {
		return Unknown, err
	}
	for _, s := range signatures {
		offset := size - s.after - int64(len(s.end))
		if !bytes.HasPrefix(begin, []byte(s.begin)) || offset < 0 {
			continue
		}
		end, err := read(file, offset, len(s.end))
		if err != nil || string(end) == s.end {
			return s.format, err
		}
	}
	return Unknown, nil
}

// read reads n bytes from offset on, or fewer if the file ends before.
func read(file io.ReaderAt, offset int64, n int) ([]byte, error) {
	p := make([]byte, n)
	n, err := file.ReadAt(p, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return p[:n], err
}

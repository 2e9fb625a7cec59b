package aggregatedlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/tfile"
)

// Keys of the records that contain no container's logs (AggregatedLogFormat.java).
const (
	ownerKey   = "APPLICATION_OWNER"
	aclsKey    = "APPLICATION_ACL"
	versionKey = "VERSION"
)

// tfileLogs is an open TFile of logs. The TFile has a record for each container. The key is the
// container ID; the value has the name, length and content of each log file.
type tfileLogs struct {
	reader  *tfile.Reader
	entries []Entry
	owner   string
}

func openTFile(file io.ReaderAt, size int64) (*tfileLogs, error) {
	reader, err := tfile.NewReader(file, size)
	if err != nil {
		return nil, asFormatError(err, tfile.ErrFormat)
	}
	logs := &tfileLogs{reader: reader}
	return logs, asFormatError(logs.index(), tfile.ErrFormat)
}

func (t *tfileLogs) Entries() []Entry { return t.entries }

func (t *tfileLogs) Owner() string { return t.owner }

// index reads the whole TFile to list its log files.
func (t *tfileLogs) index() error {
	at := entryPosition{block: -1}
	for {
		key, content, err := t.reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if at.record++; t.reader.Block() != at.block {
			at = entryPosition{block: t.reader.Block()}
		}
		name, err := keyText(key)
		if err != nil {
			return err
		}
		switch name {
		case ownerKey:
			if t.owner, err = readUTF(content); err != nil {
				return unexpected(err)
			}
		case aclsKey, versionKey:
		default:
			if err := t.indexContainer(name, at, content); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
}

func (t *tfileLogs) indexContainer(container string, at entryPosition, content io.Reader) error {
	for at.part = 0; ; at.part++ {
		name, size, err := nextPart(content)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		t.entries = append(t.entries, Entry{Container: container, Name: name, Size: size, place: at})
		if err := skip(content, size); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

func (t *tfileLogs) Open(entry Entry) (io.Reader, error) {
	content, err := t.open(entry)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", entry.Name, entry.Container, asFormatError(err, tfile.ErrFormat))
	}
	return content, nil
}

func (t *tfileLogs) open(entry Entry) (io.Reader, error) {
	if err := t.reader.Seek(entry.place.block); err != nil {
		return nil, err
	}
	for {
		_, content, err := t.reader.Next()
		if err != nil {
			return nil, unexpected(err)
		}
		if entry.place.record > 0 {
			entry.place.record--
			continue
		}
		for part := 0; ; part++ {
			_, size, err := nextPart(content)
			if err != nil {
				return nil, unexpected(err)
			}
			if part == entry.place.part {
				return io.LimitReader(content, size), nil
			}
			if err := skip(content, size); err != nil {
				return nil, err
			}
		}
	}
}

// keyText decodes a record's key, which Java's DataOutput.writeUTF has encoded.
func keyText(key []byte) (string, error) {
	if len(key) < 2 || int(binary.BigEndian.Uint16(key)) != len(key)-2 {
		return "", fmt.Errorf("%w: the key %q is no text", ErrFormat, key)
	}
	return string(key[2:]), nil
}

// nextPart reads the name and length of the next log file in a container's record. It
// returns io.EOF after the record's last log file.
func nextPart(content io.Reader) (name string, size int64, err error) {
	if name, err = readUTF(content); err != nil {
		return "", 0, err
	}
	length, err := readUTF(content)
	if err != nil {
		return "", 0, unexpected(err)
	}
	size, err = strconv.ParseInt(length, 10, 64)
	if err != nil || size < 0 {
		return "", 0, fmt.Errorf("%w: the length of %q is %q", ErrFormat, name, length)
	}
	return name, size, nil
}

// readUTF reads a string that Java's DataOutput.writeUTF wrote: a length of 2 bytes and the
// bytes. It returns io.EOF at the end of r.
func readUTF(r io.Reader) (string, error) {
	var length [2]byte
	if _, err := io.ReadFull(r, length[:]); errors.Is(err, io.EOF) {
		return "", io.EOF
	} else if err != nil {
		return "", unexpected(err)
	}
	text := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(r, text); err != nil {
		return "", unexpected(err)
	}
	return string(text), nil
}

func skip(r io.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, r, n)
	return unexpected(err)
}

// unexpected returns an error that wraps ErrFormat if err means the end of the input, or else
// err.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", ErrFormat, io.ErrUnexpectedEOF)
	}
	return err
}

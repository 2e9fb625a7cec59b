package master

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// draftPrefix is the prefix of the names of files that are being uploaded.
const draftPrefix = ".upload-"

// fileStore stores uploaded files by their SHA-256. The modification time of a file is the
// time of its latest use.
type fileStore struct{ dir string }

func openFileStore(dir string) (*fileStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the master's files: %w", err)
	}
	return &fileStore{dir: dir}, nil
}

func (s *fileStore) path(sum []byte) string { return filepath.Join(s.dir, hex.EncodeToString(sum)) }

// touch sets a file's time of latest use to now. It reports whether the file exists.
func (s *fileStore) touch(sum []byte) bool {
	if len(sum) != sha256.Size {
		return false
	}
	now := time.Now()
	return os.Chtimes(s.path(sum), now, now) == nil
}

func (s *fileStore) has(sum []byte) bool {
	_, err := os.Stat(s.path(sum))
	return err == nil
}

// olderThan returns the SHA-256 of each file whose latest use was before a time.
func (s *fileStore) olderThan(before time.Time) ([][]byte, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("look for old files: %w", err)
	}
	var old [][]byte
	for _, entry := range entries {
		sum, err := hex.DecodeString(entry.Name())
		if err != nil {
			continue
		}
		if info, err := entry.Info(); err == nil && !info.ModTime().After(before) {
			old = append(old, sum)
		}
	}
	return old, nil
}

// open opens the file whose SHA-256 is sum. If the file does not exist, the error wraps
// fs.ErrNotExist.
func (s *fileStore) open(sum []byte) (*os.File, error) {
	if !s.touch(sum) {
		return nil, fs.ErrNotExist
	}
	return os.Open(s.path(sum))
}

// draft is a file that is being uploaded.
type draft struct {
	store *fileStore
	sum   []byte
	size  int64
	file  *os.File
	hash  hash.Hash
	got   int64
}

func (s *fileStore) begin(sum []byte, size int64) (*draft, error) {
	if len(sum) != sha256.Size {
		return nil, fmt.Errorf("a SHA-256 of %d bytes: want 32", len(sum))
	}
	if size < 0 {
		return nil, fmt.Errorf("a size of %d bytes", size)
	}
	file, err := os.CreateTemp(s.dir, draftPrefix)
	if err != nil {
		return nil, fmt.Errorf("keep an upload: %w", err)
	}
	return &draft{store: s, sum: bytes.Clone(sum), size: size, file: file, hash: sha256.New()}, nil
}

// The error of an upload wraps errWrongContent if the content does not have the announced size
// or SHA-256.
var errWrongContent = errors.New("the content is not what was announced")

func (d *draft) write(data []byte) error {
	if d.got += int64(len(data)); d.got > d.size {
		return fmt.Errorf("%w: it has more than the %d bytes", errWrongContent, d.size)
	}
	d.hash.Write(data)
	if _, err := d.file.Write(data); err != nil {
		return fmt.Errorf("keep an upload: %w", err)
	}
	return nil
}

// commit stores the file if its content has the announced size and SHA-256.
func (d *draft) commit() error {
	if d.got != d.size {
		return fmt.Errorf("%w: it has %d of the %d bytes", errWrongContent, d.got, d.size)
	}
	if sum := d.hash.Sum(nil); !bytes.Equal(sum, d.sum) {
		return fmt.Errorf("%w: its SHA-256 is %x, not %x", errWrongContent, sum, d.sum)
	}
	if err := errors.Join(d.file.Sync(), d.file.Close()); err != nil {
		return fmt.Errorf("keep an upload: %w", err)
	}
	if err := os.Rename(d.file.Name(), d.store.path(d.sum)); err != nil {
		return fmt.Errorf("keep an upload: %w", err)
	}
	return nil
}

// drop removes the draft, unless it was committed.
func (d *draft) drop() {
	_ = d.file.Close()
	_ = os.Remove(d.file.Name())
}

// removeOld removes files and unfinished uploads whose latest use was before a time. It keeps
// the files whose SHA-256 is in the set used.
func (s *fileStore) removeOld(before time.Time, used map[string]bool) (removed int, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0, fmt.Errorf("look for old files: %w", err)
	}
	var problems []error
	for _, entry := range entries {
		sum, notHex := hex.DecodeString(entry.Name())
		if unfinished := strings.HasPrefix(entry.Name(), draftPrefix); !unfinished && (notHex != nil || used[string(sum)]) {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if info.ModTime().After(before) {
			continue
		}
		if err := os.Remove(filepath.Join(s.dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
			continue
		}
		removed++
	}
	return removed, errors.Join(problems...)
}

// copyChunks reads all data of the reader, and calls send with pieces of at most chunk bytes.
func copyChunks(from io.Reader, chunk int, send func([]byte) error) error {
	for {
		// Allocate a new buffer for each chunk, because gRPC still reads the message after
		// Send has returned.
		data := make([]byte, chunk)
		n, err := io.ReadFull(from, data)
		if n > 0 {
			if err := send(data[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

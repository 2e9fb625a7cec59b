package executorbackend

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
)

// storePart is the part of this process's memory that results may take which
// wait to be fetched; storeDefault is what they may take where the process's
// memory has no limit.
const (
	storePart    = 8
	storeDefault = 256 << 20
)

// resultStore keeps results until they are fetched: in memory, and where that
// is full in files. It is for any goroutine.
type resultStore struct {
	parent string // of its directory
	most   int64  // bytes in memory
	logger *slog.Logger

	mu        sync.Mutex
	inMemory  int64
	directory string // "" before the first file
	files     int    // that there were
	closed    bool
}

// keptResult is one result in a store.
type keptResult struct {
	store *resultStore
	size  int

	mu    sync.Mutex
	value []byte   // nil where it is in the file, and once it was dropped
	file  *os.File // nil before it is read
	path  string   // "" where it is in memory
}

func newResultStore(options Options) *resultStore {
	s := &resultStore{parent: os.TempDir(), most: storeDefault, logger: options.Logger}
	if options.replaceable {
		s.parent = options.directory // the container's, which goes with it
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		s.most = limit / storePart
	}
	return s
}

// keep stores a result. One that fits nowhere else is kept in memory.
func (s *resultStore) keep(value []byte) *keptResult {
	result := &keptResult{store: s, size: len(value)}
	s.mu.Lock()
	if s.inMemory+int64(len(value)) > s.most && !s.closed {
		path, err := s.newPath()
		s.mu.Unlock()
		if err == nil {
			err = os.WriteFile(path, value, 0o600)
		}
		if err == nil {
			result.path = path
			return result
		}
		s.logger.Warn("a result stays in memory, as it cannot be written to disk", "bytes", len(value), "error", err)
		s.mu.Lock()
	}
	s.inMemory += int64(len(value))
	s.mu.Unlock()
	result.value = value
	return result
}

// newPath names the next file. It is called with the lock held.
func (s *resultStore) newPath() (string, error) {
	if s.directory == "" {
		made, err := os.MkdirTemp(s.parent, "bobbin-results-")
		if err != nil {
			return "", err
		}
		s.directory = made
	}
	s.files++
	return filepath.Join(s.directory, strconv.Itoa(s.files)), nil
}

// close removes what is in files.
func (s *resultStore) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.directory == "" {
		return
	}
	if err := os.RemoveAll(s.directory); err != nil {
		s.logger.Warn("results stay on disk", "directory", s.directory, "error", err)
	}
}

// read is the part of a result from one byte up to another.
func (r *keptResult) read(from, to int) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.path == "" {
		if r.value == nil {
			return nil, fmt.Errorf("it was given up")
		}
		return r.value[from:to:to], nil
	}
	if r.file == nil {
		file, err := os.Open(r.path)
		if err != nil {
			return nil, err
		}
		r.file = file
	}
	content := make([]byte, to-from)
	if _, err := r.file.ReadAt(content, int64(from)); err != nil {
		return nil, fmt.Errorf("%s: %w", r.path, err)
	}
	return content, nil
}

// drop frees what a result takes. It may be called again.
func (r *keptResult) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.value != nil {
		r.store.mu.Lock()
		r.store.inMemory -= int64(len(r.value))
		r.store.mu.Unlock()
		r.value = nil
	}
	if r.file != nil {
		_ = r.file.Close() // it was only read
		r.file = nil
	}
	if r.path != "" {
		_ = os.Remove(r.path) // or the directory is removed at the end
	}
}

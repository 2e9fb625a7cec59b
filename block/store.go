package block

import (
	"container/list"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
)

// Errors of a store, to be tested with errors.Is.
var (
	ErrExists   = errors.New("the block is there already")
	ErrNotFound = errors.New("the block is not there")
	ErrDamaged  = errors.New("the block is damaged")
	ErrNoMemory = errors.New("the block does not fit into memory")
	ErrClosed   = errors.New("the block store is closed")
)

// Options configure a Store.
type Options struct {
	// Memory is the memory limit for blocks, in bytes. The blocks in memory exceed it only if
	// some of them cannot be evicted, because readers have them open or because files cannot
	// be written.
	Memory int64
	// Directory is the parent directory of the store's directory, which the store creates when
	// it writes its first file. "" means the system's directory for temporary files.
	Directory string
	// Logger receives a warning when a block cannot be written to a file. It may be nil.
	Logger *slog.Logger
}

// Store stores blocks in memory and in files. It is safe for concurrent use.
type Store struct {
	options Options
	files   directory

	mu              sync.Mutex // not held while files are read, written or removed
	blocks          map[ID]*entry
	lru             list.List      // *entry values of the blocks that can be evicted, least recently used first
	memory          int64          // size of the blocks in memory
	spilling        int64          // size of the blocks in memory that are being written to files
	lastWriteFailed bool           // whether the most recent write of a file failed
	writing         sync.WaitGroup // number of files that are being written
	closed          bool
}

// entry is a block of a store. The store's lock guards the fields after checksums.
type entry struct {
	id        ID
	level     Level
	size      int64
	checksums []uint32

	inMemory   bool
	value      []byte        // the block's bytes; nil if inMemory is false
	path       string        // path of the block's file; "" if it has no file
	pins       int           // number of open readers, and of goroutines that put or evict the block
	lruElement *list.Element // the entry's element in Store.lru; nil if the entry is not in the list
	removed    bool          // whether the block was removed; it is freed when pins is 0
}

// New returns an empty store.
func New(options Options) *Store {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return &Store{options: options, files: directory{parent: options.Directory}, blocks: map[ID]*entry{}}
}

// Put stores a block. The caller must not change value afterwards. If memory is full, Put
// evicts other blocks from memory, or writes the new block to a file. An empty block needs
// neither memory nor a file.
//
// Put fails with ErrExists if the store has a block with this id, and with ErrClosed if the
// store is closed. If the file of a DiskOnly block cannot be written, Put returns the error of
// the write. It fails with ErrNoMemory if memory is full and the block's level is MemoryOnly,
// or if memory is full and the block is a cached partition that cannot be written to a file.
func (s *Store) Put(id ID, value []byte, level Level) error {
	b := &entry{id: id, level: level, size: int64(len(value)), checksums: checksums(value), inMemory: true, value: value, pins: 1}
	s.mu.Lock()
	if s.closed || s.blocks[id] != nil {
		closed := s.closed
		s.mu.Unlock()
		if closed {
			return fmt.Errorf("put block %s: %w", id, ErrClosed)
		}
		return fmt.Errorf("put block %s: %w", id, ErrExists)
	}
	s.blocks[id] = b
	s.memory += b.size
	err := s.makeRoom(b)
	if err != nil {
		s.removeEntry(b)
	}
	s.unpin(b)
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("put block %s: %w", id, err)
	}
	return nil
}

// Remove removes a block, and reports whether it existed. Open readers can still read the
// block. Its space is freed when the last of these readers is released.
func (s *Store) Remove(id ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.blocks[id]
	if b == nil {
		return false
	}
	s.pin(b)
	s.removeEntry(b)
	s.unpin(b)
	return true
}

// Close removes all blocks and the store's files. Open readers can still read their blocks.
// After Close, Put fails with ErrClosed.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	clear(s.blocks)
	s.lru.Init()
	s.memory = 0
	s.mu.Unlock()
	s.writing.Wait()
	if err := s.files.remove(); err != nil {
		s.options.Logger.Warn("blocks stay on disk", "error", err)
	}
}

// pin prevents a block from being evicted or freed, until unpin has been called as often as
// pin. The caller holds the lock.
func (s *Store) pin(b *entry) {
	if b.lruElement != nil {
		s.lru.Remove(b.lruElement)
		b.lruElement = nil
	}
	b.pins++
}

// unpin removes one pin. When a block has no pins left, unpin frees it if it was removed, and
// evicts it from memory if it is in a file; otherwise the block becomes the most recently used
// one. The caller holds the lock, which unpin releases while it removes a file.
func (s *Store) unpin(b *entry) {
	b.pins--
	if b.pins > 0 || s.closed {
		return
	}
	if b.inMemory && !b.removed && b.path == "" {
		if b.size > 0 {
			b.lruElement = s.lru.PushBack(b)
		}
		return
	}
	if b.inMemory {
		s.memory -= b.size
		b.inMemory, b.value = false, nil
	}
	if b.removed && b.path != "" {
		s.mu.Unlock()
		_ = os.Remove(b.path) // if Remove fails, Close removes the file with the directory
		s.mu.Lock()
	}
}

// removeEntry removes a block, which is freed when its last pin is removed. The caller
// holds the lock and has pinned the block.
func (s *Store) removeEntry(b *entry) {
	b.removed = true
	if s.blocks[b.id] == b {
		delete(s.blocks, b.id)
	}
}

// Status describes the content of a store.
type Status struct {
	Memory, Disk int64         // size in bytes of the blocks in memory and in files
	Blocks       []BlockStatus // sorted by id
}

// BlockStatus describes one block. A block that was written to a file while it was pinned
// is both in memory and on disk until its last pin is removed.
type BlockStatus struct {
	ID               ID
	Level            Level
	Size             int64
	InMemory, OnDisk bool
	Pins             int
}

// Status returns what the store contains. Status.Memory includes blocks that were removed
// but are still being read.
func (s *Store) Status() Status {
	s.mu.Lock()
	status := Status{Memory: s.memory, Blocks: make([]BlockStatus, 0, len(s.blocks))}
	for _, b := range s.blocks {
		status.Blocks = append(status.Blocks, BlockStatus{b.id, b.level, b.size, b.inMemory, b.path != "", b.pins})
		if b.path != "" {
			status.Disk += b.size
		}
	}
	s.mu.Unlock()
	slices.SortFunc(status.Blocks, func(a, b BlockStatus) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return status
}

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

// Errors of a store, for errors.Is.
var (
	ErrExists   = errors.New("the block is there already")
	ErrNotFound = errors.New("the block is not there")
	ErrDamaged  = errors.New("the block is damaged")
	ErrNoMemory = errors.New("the block does not fit into memory")
	ErrClosed   = errors.New("the block store is closed")
)

// Options configure a Store.
type Options struct {
	// Memory is how many bytes of blocks are kept in memory.
	Memory int64
	// Directory is where the store makes a directory for its files, once it
	// writes one. "" is the system's directory for temporary files.
	Directory string
	// Logger gets a warning when blocks cannot be written. nil is none.
	Logger *slog.Logger
	// Dropped is called after a MemoryOnly block was dropped for another one, by
	// the goroutine that puts that. nil is none.
	Dropped func(ID)
}

// Store keeps blocks in memory and in files. Its methods may be called by any
// goroutine.
type Store struct {
	options Options
	files   directory

	mu      sync.Mutex // not held during input and output
	blocks  map[ID]*entry
	recent  list.List      // of *entry: those that can leave memory, the least recently used first
	memory  int64          // bytes of blocks in memory
	leaving int64          // those of them that are being written
	failing bool           // the last file could not be written
	writing sync.WaitGroup // files; none begins once the store is closed
	closed  bool
}

// entry is a block of a store. What follows size and sums is guarded by the
// store's lock.
type entry struct {
	id    ID
	level Level
	size  int64
	sums  []uint32

	inMemory bool
	value    []byte        // where it is in memory
	path     string        // of its file; "" where it has none
	pins     int           // readers, and goroutines that put or move it
	place    *list.Element // in recent; nil while it is pinned or not to leave memory
	removed  bool          // it goes with the last pin
}

// New returns an empty store.
func New(options Options) *Store {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return &Store{options: options, files: directory{parent: options.Directory}, blocks: map[ID]*entry{}}
}

// Put keeps a block, whose bytes must not change any more. Where memory is full,
// other blocks leave it, or this one does. Put fails with ErrExists where the id
// is taken, with ErrNoMemory where a MemoryOnly block cannot stay, with ErrClosed,
// and with the file's error where a DiskOnly block cannot be written. An empty
// block takes nothing of either: it marks its id.
func (s *Store) Put(id ID, value []byte, level Level) error {
	b := &entry{id: id, level: level, size: int64(len(value)), sums: checksums(value), inMemory: true, value: value, pins: 1}
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
	dropped, err := s.settle(b)
	if err != nil {
		s.forget(b)
	}
	s.unpin(b)
	s.mu.Unlock()
	if s.options.Dropped != nil {
		for _, id := range dropped {
			s.options.Dropped(id)
		}
	}
	if err != nil {
		return fmt.Errorf("put block %s: %w", id, err)
	}
	return nil
}

// Remove removes a block, and reports whether there was one. Readers that have it
// open go on reading: what it takes is free once the last one releases it.
func (s *Store) Remove(id ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.blocks[id]
	if b == nil {
		return false
	}
	s.pin(b)
	s.forget(b)
	s.unpin(b)
	return true
}

// Close removes all blocks and the store's files. Readers that are open can go on.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	clear(s.blocks)
	s.recent.Init()
	s.memory = 0
	s.mu.Unlock()
	s.writing.Wait()
	if err := s.files.remove(); err != nil {
		s.options.Logger.Warn("blocks stay on disk", "error", err)
	}
}

// pin keeps a block where it is. It is called with the lock held.
func (s *Store) pin(b *entry) {
	if b.place != nil {
		s.recent.Remove(b.place)
		b.place = nil
	}
	b.pins++
}

// unpin ends a pin. With the last one, a block that was removed is gone, one
// whose bytes are in a file leaves memory, and another can be chosen to. It is
// called with the lock held, and gives it up while it removes a file.
func (s *Store) unpin(b *entry) {
	b.pins--
	if b.pins > 0 || s.closed {
		return
	}
	if b.inMemory && !b.removed && b.path == "" {
		if b.size > 0 {
			b.place = s.recent.PushBack(b)
		}
		return
	}
	if b.inMemory {
		s.memory -= b.size
		b.inMemory, b.value = false, nil
	}
	if b.removed && b.path != "" {
		s.mu.Unlock()
		_ = os.Remove(b.path) // or the directory is removed at the end
		s.mu.Lock()
	}
}

// forget takes a pinned block out of the store: it is gone with its last pin. It
// is called with the lock held.
func (s *Store) forget(b *entry) {
	b.removed = true
	if s.blocks[b.id] == b {
		delete(s.blocks, b.id)
	}
}

// Status is what a store keeps.
type Status struct {
	Memory, Disk int64         // bytes
	Blocks       []BlockStatus // in the order of their ids
}

// BlockStatus is where a block is. While it is moved, or pinned and moved, it is
// in memory and on disk.
type BlockStatus struct {
	ID               ID
	Level            Level
	Size             int64
	InMemory, OnDisk bool
	Pins             int
}

// Status returns what the store keeps now. Memory has in it what removed blocks
// take that are still being read.
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

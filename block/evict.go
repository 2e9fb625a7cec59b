package block

// makeRoom makes room for b, a new block: it evicts the least recently used blocks from
// memory, or writes b to a file. The caller holds the lock, which makeRoom releases while it
// writes. If a file cannot be written, this call of makeRoom evicts no more blocks; the next
// call tries again.
func (s *Store) makeRoom(b *entry) (err error) {
	if b.size == 0 {
		return nil
	}
	if b.level == DiskOnly {
		return s.spill(b)
	}
	for b.size <= s.options.Memory && s.overLimit() && s.lru.Len() > 0 && err == nil {
		victim := s.lru.Front().Value.(*entry)
		s.pin(victim)
		if victim.level == MemoryOnly {
			s.removeEntry(victim)
		} else {
			err = s.spill(victim)
		}
		s.unpin(victim)
	}
	switch {
	case !s.overLimit():
	case b.level == MemoryOnly:
		return ErrNoMemory
	case err == nil && s.spill(b) == nil:
	case b.id.IsCached():
		return ErrNoMemory // dropping it loses nothing, because a cached partition can be computed again
	}
	return nil
}

// overLimit reports whether the blocks in memory exceed the memory limit. Blocks that are
// being written to files do not count. The caller holds the lock.
func (s *Store) overLimit() bool { return s.memory-s.spilling > s.options.Memory }

// spill writes a pinned block to a file. The block leaves memory when its last pin is
// removed. The caller holds the lock, which spill releases while it writes.
func (s *Store) spill(b *entry) error {
	if s.closed {
		return ErrClosed
	}
	s.spilling += b.size
	s.writing.Add(1)
	s.mu.Unlock()
	path, err := s.files.write(b.value)
	s.mu.Lock()
	s.writing.Done()
	s.spilling -= b.size
	b.path = path
	if err != nil && !s.lastWriteFailed {
		s.options.Logger.Warn("blocks cannot be written to disk: those that must not be lost stay in memory", "block", b.id, "bytes", b.size, "error", err)
	}
	s.lastWriteFailed = err != nil
	return err
}

package block

// settle finds a block that is being put its place, and makes room for it; an
// empty one needs none. It returns the blocks that were dropped for it. It is
// called with the lock held, and gives it up while it writes. A call tries to write
// until one file fails: the next call tries again, with another block.
func (s *Store) settle(b *entry) (dropped []ID, err error) {
	if b.size == 0 {
		return nil, nil
	}
	if b.level == DiskOnly {
		return nil, s.spill(b)
	}
	for b.size <= s.options.Memory && s.full() && s.recent.Len() > 0 && err == nil {
		victim := s.recent.Front().Value.(*entry)
		s.pin(victim)
		if victim.level == MemoryOnly {
			s.forget(victim)
			dropped = append(dropped, victim.id)
		} else {
			err = s.spill(victim)
		}
		s.unpin(victim)
	}
	switch {
	case !s.full():
	case b.level == MemoryOnly:
		return dropped, ErrNoMemory
	case err == nil:
		_ = s.spill(b) // where that fails, it stays in memory
	}
	return dropped, nil
}

// full reports whether blocks take more memory than they should. It is called
// with the lock held.
func (s *Store) full() bool { return s.memory-s.leaving > s.options.Memory }

// spill writes a block that the caller has pinned into a file: it leaves memory
// with its last pin. It is called with the lock held, and gives it up while it
// writes.
func (s *Store) spill(b *entry) error {
	if s.closed {
		return ErrClosed
	}
	s.leaving += b.size
	s.writing.Add(1)
	s.mu.Unlock()
	path, err := s.files.write(b.value)
	s.mu.Lock()
	s.writing.Done()
	s.leaving -= b.size
	b.path = path
	if err != nil && !s.failing {
		s.options.Logger.Warn("blocks cannot be written to disk: those that must not be lost stay in memory", "block", b.id, "bytes", b.size, "error", err)
	}
	s.failing = err != nil
	return err
}

package recovery

import (
	"context"
	"sync"
)

// Memory returns a backend in memory. It begins without records. The first master that calls
// Campaign leads immediately. Several masters of one process may share the backend.
func Memory() Backend {
	m := &memory{records: map[[2]string]Record{}, lead: make(chan struct{}, 1), closed: make(chan struct{})}
	m.lead <- struct{}{}
	return m
}

type memory struct {
	lead   chan struct{} // has one element if no master leads
	closed chan struct{}

	mu       sync.Mutex
	records  map[[2]string]Record // by kind and id
	term     *memoryTerm
	last     uint64 // number of the latest term
	isClosed bool   // Close was called
}

func (m *memory) Campaign(ctx context.Context, address string) (Term, error) {
	select {
	case <-m.closed:
		return nil, ErrClosed
	default:
	}
	select {
	case <-m.lead:
	case <-m.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isClosed {
		return nil, ErrClosed
	}
	m.last = NextNumber(m.last)
	m.term = &memoryTerm{memory: m, number: m.last, address: address, lost: make(chan struct{})}
	return m.term, nil
}

func (m *memory) Leader() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.term == nil {
		return ""
	}
	return m.term.address
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isClosed {
		return nil
	}
	m.isClosed = true
	close(m.closed)
	m.endTerm(m.term)
	return nil
}

// endTerm ends a term if it is the current one. The caller holds mu.
func (m *memory) endTerm(t *memoryTerm) {
	if t == nil || m.term != t {
		return
	}
	m.term = nil
	close(t.lost)
	m.lead <- struct{}{}
}

type memoryTerm struct {
	memory  *memory
	number  uint64
	address string
	lost    chan struct{}
}

func (t *memoryTerm) Number() uint64        { return t.number }
func (t *memoryTerm) Lost() <-chan struct{} { return t.lost }

func (t *memoryTerm) Load(ctx context.Context) ([]Record, error) {
	m := t.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := t.check(ctx); err != nil {
		return nil, err
	}
	records := make([]Record, 0, len(m.records))
	for _, r := range m.records {
		r.Data = append([]byte{}, r.Data...)
		records = append(records, r)
	}
	Sort(records)
	return records, nil
}

func (t *memoryTerm) Write(ctx context.Context, changes ...Record) error {
	if err := Check(changes); err != nil {
		return err
	}
	m := t.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := t.check(ctx); err != nil {
		return err
	}
	for _, r := range changes {
		key := [2]string{r.Kind, r.ID}
		if r.Data == nil {
			delete(m.records, key)
			continue
		}
		r.Data = append([]byte{}, r.Data...)
		m.records[key] = r
	}
	return nil
}

func (t *memoryTerm) check(ctx context.Context) error {
	if t.memory.term != t {
		return ErrLost
	}
	return context.Cause(ctx)
}

func (t *memoryTerm) Resign(context.Context) error {
	t.memory.mu.Lock()
	defer t.memory.mu.Unlock()
	t.memory.endTerm(t)
	return nil
}

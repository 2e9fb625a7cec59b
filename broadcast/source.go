package broadcast

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
)

// Source stores the broadcast values of a driver and serves them to peers. It is safe for
// concurrent use.
type Source struct {
	store  *block.Store
	logger *slog.Logger
	piece  int64 // size of the pieces in bytes

	mu      sync.Mutex
	address string // host:port of the data port; "" if there is none
	values  map[uint64]*sentValue
	homes   map[string]struct{} // host:port of the data ports of the registered executors
}

// sentValue is a value that a source stores, and how much of it peers requested.
type sentValue struct {
	Value
	sent int64 // size in bytes of all pieces that peers requested; a piece counts once for each request
}

// NewSource returns a Source without values. blocks configures the block store in which the
// Source stores pieces. The caller must close the Source.
func NewSource(blocks block.Options) *Source {
	logger := blocks.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Source{store: block.New(blocks), logger: logger, piece: maxPiece, values: map[uint64]*sentValue{}, homes: map[string]struct{}{}}
}

// Close removes all values.
func (s *Source) Close() {
	s.mu.Lock()
	ids := slices.Collect(maps.Keys(s.values))
	s.mu.Unlock()
	for _, id := range ids {
		s.Remove(id)
	}
	s.store.Close()
}

// Advertise sets the host:port of the transfer.Server that serves s.Open to peers. Call it
// before Add: a value that was added earlier can be read only in this process.
func (s *Source) Advertise(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = address
}

// Add adds an encoded value under an id that was not used before. It copies each piece, so
// that the store can move single pieces to disk and free their memory. It fails if a piece
// cannot be stored.
func (s *Source) Add(id uint64, encoded []byte) (Value, error) {
	v := Value{ID: id, Size: int64(len(encoded)), Piece: s.piece, Checksum: xxh3.Hash(encoded)}
	for i := range v.pieces() {
		if err := s.store.Put((piece{id, i}).id(), bytes.Clone(v.slice(encoded, i)), block.MemoryAndDisk); err != nil {
			s.removePieces(v)
			return Value{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v.Source = s.address
	s.values[id] = &sentValue{Value: v}
	return v, nil
}

// Remove removes a value. It does nothing if no value has this id.
func (s *Source) Remove(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.values[id]; v != nil {
		delete(s.values, id)
		s.removePieces(v.Value)
		s.logger.Info("a broadcast value is removed", "id", id, "bytes", v.Size, "sent", v.sent)
	}
}

func (s *Source) removePieces(v Value) {
	for i := range v.pieces() {
		s.store.Remove((piece{v.ID, i}).id())
	}
}

// Sent returns how many bytes of a value peers have requested. Bytes that several peers
// requested count several times.
func (s *Source) Sent(id uint64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.values[id]; v != nil {
		return v.sent
	}
	return 0
}

// Read returns an encoded value. It reads the store directly, not through the data port.
func (s *Source) Read(v Value) ([]byte, error) {
	encoded := make([]byte, v.Size)
	for i := range v.pieces() {
		reader, err := s.store.Open((piece{v.ID, i}).id())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v, err)
		}
		_, err = reader.ReadAt(v.slice(encoded, i), 0)
		reader.Release()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v, err)
		}
	}
	return encoded, nil
}

// AddHome adds the data port of an executor that has registered. It ignores "".
func (s *Source) AddHome(address string) {
	if address != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.homes[address] = struct{}{}
	}
}

// RemoveHome removes the data port of an executor that is lost.
func (s *Source) RemoveHome(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.homes, address)
}

// Open opens a piece of a value, or the block with the addresses of the homes, to serve it
// on the source's data port.
func (s *Source) Open(id block.ID) (transfer.Content, error) {
	s.mu.Lock()
	if id == homesID {
		defer s.mu.Unlock()
		return listContent(strings.Join(slices.Sorted(maps.Keys(s.homes)), "\n")), nil
	}
	s.mu.Unlock()
	reader, err := s.store.Open(id)
	if err != nil {
		return nil, err
	}
	if p, _, ok := parse(id); ok {
		s.count(p.value, reader.Size())
	}
	return reader, nil
}

func (s *Source) count(value uint64, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.values[value]; v != nil {
		v.sent += bytes
	}
}

// listContent is the content of the block with the addresses of the homes.
type listContent string

func (c listContent) Size() int64 { return int64(len(c)) }

func (c listContent) ReadChunk(i int64, p []byte) (checksum uint32, err error) {
	copy(p, c[i*block.ChunkSize:])
	return block.Checksum(p), nil
}

func (listContent) Release() {}

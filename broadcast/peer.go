package broadcast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
)

// maxFetches is how many pieces a peer fetches concurrently for its own tasks. It is well
// below the limit of a transfer.Client, because the peer must also be able to fetch pieces
// of which it is the home, when other peers request them. Otherwise two peers could wait
// for each other forever.
const maxFetches = 8

var (
	errNoPeer  = errors.New("the context is not that of a task on an executor")
	errNoPeers = errors.New("this executor has no data port, and the driver is another process")
	errClosed  = errors.New("the executor stops")
)

// Options configure a Peer.
type Options struct {
	Store   *block.Store     // stores the pieces of which this executor is the home
	Peers   *transfer.Client // fetches from the source and from homes; nil if the executor has no data port
	Address string           // host:port of the executor's data port
}

// Peer loads values for the tasks of an executor, and serves the pieces of which the
// executor is the home. It is safe for concurrent use. A nil Peer has no pieces, and its
// Load fails.
type Peer struct {
	options  Options
	ctx      context.Context // canceled by Close
	cancel   context.CancelCauseFunc
	slots    chan struct{} // semaphore: has an element for each piece that is being fetched for a task
	fetching sync.WaitGroup

	mu               sync.Mutex
	fetches          map[piece]*homeFetch
	removed          map[uint64]bool     // ids of the values that were released
	releaseCallbacks map[uint64][]func() // functions passed to OnRelease, by the value's id
}

// homeFetch is a fetch of a piece of which this executor is the home.
type homeFetch struct {
	done chan struct{} // closed when the fetch has ended
	err  error
}

// NewPeer returns a Peer that has no pieces. The caller must close it.
func NewPeer(options Options) *Peer {
	p := &Peer{
		options:          options,
		slots:            make(chan struct{}, maxFetches),
		fetches:          map[piece]*homeFetch{},
		removed:          map[uint64]bool{},
		releaseCallbacks: map[uint64][]func(){},
	}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	return p
}

// Close cancels the peer's fetches and waits until they have ended. Then it calls Reset.
// Further calls of Close do nothing.
func (p *Peer) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.cancel(errClosed)
	p.mu.Unlock()
	p.fetching.Wait()
	p.Reset()
}

// Load fetches a value and returns its encoding. It fails if the source cannot be reached
// or has removed the value, or if the checksum of the value is wrong. If ctx ends, Load
// fails with the cause of ctx.
func (p *Peer) Load(ctx context.Context, v Value) ([]byte, error) {
	switch {
	case p == nil:
		return nil, fmt.Errorf("%s: %w", v, errNoPeer)
	case p.options.Peers == nil || v.Source == "":
		return nil, fmt.Errorf("%s: %w", v, errNoPeers)
	}
	l := &loadCall{peer: p, value: v, lost: map[string]bool{}}
	encoded, err := l.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v, err)
	}
	return encoded, nil
}

// homes fetches from a source the addresses of the registered executors' data ports.
func (p *Peer) homes(ctx context.Context, source string) ([]string, error) {
	for list, err := range p.options.Peers.Fetch(ctx, source, homesID) {
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(list)
		return strings.Fields(string(text)), err
	}
	return nil, block.ErrNotFound
}

// fetch fetches a block into content. It fails if the block and content differ in length.
func (p *Peer) fetch(ctx context.Context, address string, id block.ID, content []byte) error {
	for fetched, err := range p.options.Peers.Fetch(ctx, address, id) {
		if err != nil {
			return err
		}
		if fetched.Size != int64(len(content)) {
			return fmt.Errorf("fetch block %s from %s: %w: it has %d bytes, and should have %d", id, address, block.ErrDamaged, fetched.Size, len(content))
		}
		_, err = io.ReadFull(fetched, content)
		return err
	}
	return block.ErrNotFound
}

// Open opens a piece of which this executor is the home, to serve it on the data port. If
// the piece is not in the store, Open fetches it from the source. Open fails with
// block.ErrNotFound if id is not the id of a piece, or if the piece cannot be fetched.
func (p *Peer) Open(id block.ID) (transfer.Content, error) {
	requested, source, ok := parse(id)
	if !ok || source == "" || p.options.Peers == nil {
		return nil, fmt.Errorf("open block %s: %w", id, block.ErrNotFound)
	}
	reader, err := p.open(p.ctx, requested, source)
	if err != nil {
		return nil, fmt.Errorf("open block %s: %w: %w", id, block.ErrNotFound, err)
	}
	return reader, nil
}

// IsPiece reports whether id is the id of a piece.
func IsPiece(id block.ID) bool { return strings.HasPrefix(string(id), keyPrefix) }

// open opens a piece in the store. If the store does not have the piece, open first fetches
// it from the source. Concurrent calls share one fetch.
func (p *Peer) open(ctx context.Context, wanted piece, source string) (*block.Reader, error) {
	p.mu.Lock()
	reader, err := p.options.Store.Open(wanted.id())
	if err == nil || p.ctx.Err() != nil || p.removed[wanted.value] {
		p.mu.Unlock()
		return reader, err
	}
	running := p.fetches[wanted]
	if running == nil {
		running = &homeFetch{done: make(chan struct{})}
		p.fetches[wanted] = running
		p.fetching.Go(func() {
			running.err = p.fetchToStore(wanted, source)
			p.mu.Lock()
			delete(p.fetches, wanted)
			p.mu.Unlock()
			close(running.done)
		})
	}
	p.mu.Unlock()
	select {
	case <-running.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if running.err != nil {
		return nil, running.err
	}
	return p.options.Store.Open(wanted.id())
}

// fetchToStore fetches a piece from the source and stores it. If the value is released in
// the meantime, fetchToStore removes the piece again.
func (p *Peer) fetchToStore(wanted piece, source string) error {
	id := wanted.id()
	p.options.Store.Remove(id) // Store.Open failed, so a stored piece is damaged
	for fetched, err := range p.options.Peers.Fetch(p.ctx, source, id) {
		if err != nil {
			return err
		}
		if fetched.Size > maxPiece {
			return fmt.Errorf("fetch block %s from %s: %w: it has %d bytes", id, source, block.ErrDamaged, fetched.Size)
		}
		content := make([]byte, fetched.Size)
		if _, err := io.ReadFull(fetched, content); err != nil {
			return err
		}
		if err := p.options.Store.Put(id, content, block.MemoryAndDisk); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.removed[wanted.value] {
		p.options.Store.Remove(id)
	}
	return nil
}

// OnRelease makes the peer call drop once: when the value is released, or at the next Reset
// or Close. If the value was released already or the peer is closed, OnRelease calls drop
// at once.
func (p *Peer) OnRelease(value uint64, drop func()) {
	p.mu.Lock()
	removed := p.removed[value] || p.ctx.Err() != nil
	if !removed {
		p.releaseCallbacks[value] = append(p.releaseCallbacks[value], drop)
	}
	p.mu.Unlock()
	if removed {
		drop()
	}
}

// Release removes the pieces of a value that is not used any more, and calls the functions
// that OnRelease registered for the value. key is what Key returned for the value; Release
// ignores other keys.
func (p *Peer) Release(key string) {
	released, _, ok := parse(block.ID(key + "_0"))
	if !ok || p == nil {
		return
	}
	p.mu.Lock()
	p.removed[released.value] = true
	drops := p.releaseCallbacks[released.value]
	delete(p.releaseCallbacks, released.value)
	p.mu.Unlock()
	for _, b := range p.options.Store.Status().Blocks {
		if strings.HasPrefix(string(b.ID), key+"_") {
			p.options.Store.Remove(b.ID)
		}
	}
	for _, drop := range drops {
		drop()
	}
}

// Reset calls and then unregisters all functions passed to OnRelease. An executor calls
// Reset when its connection to the driver has ended, because it does not learn which values
// the driver releases while it is disconnected. Tasks that need a value afterwards load it
// again.
func (p *Peer) Reset() {
	if p == nil {
		return
	}
	p.mu.Lock()
	drops := p.releaseCallbacks
	p.releaseCallbacks = map[uint64][]func(){}
	p.mu.Unlock()
	for _, list := range drops {
		for _, drop := range list {
			drop()
		}
	}
}

type contextKey struct{}

// With returns a context that carries a Peer, for From.
func With(ctx context.Context, p *Peer) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From returns the Peer of a task's context, or nil.
func From(ctx context.Context) *Peer {
	p, _ := ctx.Value(contextKey{}).(*Peer)
	return p
}

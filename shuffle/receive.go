package shuffle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
)

// stallTimeout is how long a connection to an executor waits for a consumer that has no
// room for the next block. Then the connection is closed, so that the peer does not time
// out and other fetches may open connections. When the consumer has made room, a new
// connection fetches the rest.
const stallTimeout = 5 * time.Second

var (
	errStalled      = errors.New("the consumer is slow")
	errEmptySection = fmt.Errorf("%w: the section is empty, but has records by its output's sizes", block.ErrDamaged)
	errNoClient     = fmt.Errorf("%w: the service has no client", transfer.ErrUnreachable)
)

// receivedSection has the fields of a wantedSection that are used only if it is received
// from a peer. The receiver's mutex guards blocks, done and err.
type receivedSection struct {
	room   *semaphore.Weighted // limits the bytes of blocks that are received and not yet consumed
	weight int64               // capacity of room, in bytes
	blocks []receivedBlock
	done   bool
	err    error
}

// receivedBlock is a block that was read and checked.
type receivedBlock struct {
	header header
	stored []byte // a buffer of the pool
	weight int64  // bytes that it takes of the section's room
}

// receiver receives sections for one Fetch.
type receiver struct {
	*fetch
	ctx       context.Context
	cancel    context.CancelFunc
	running   sync.WaitGroup
	peerSlots *semaphore.Weighted // one for each peer from which sections are received
	changed   chan struct{}       // has an element if the consumer should look for blocks again

	mu      sync.Mutex
	pending map[string][]*wantedSection // requested sections that are not begun, by the peer's address
}

func newReceiver(ctx context.Context, f *fetch) *receiver {
	r := &receiver{fetch: f, peerSlots: semaphore.NewWeighted(maxPeers), changed: make(chan struct{}, 1), pending: map[string][]*wantedSection{}}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// stop cancels the receiver's goroutines and waits until they have returned.
func (r *receiver) stop() {
	r.cancel()
	r.running.Wait()
}

// requestAhead requests sections in their order, as many as f.limit allows. It always
// requests the section with the index consumed, which is the one to be consumed next.
func (f *fetch) requestAhead(ctx context.Context, consumed int) {
	for ; f.requested < len(f.sections); f.requested++ {
		s := f.sections[f.requested]
		if s.local {
			continue
		}
		// The size is doubled because a buffer can be twice as large as its block. No
		// buffer is smaller than the minimum of getBuffer.
		weight := min(max(2*s.output.Sizes.Of(f.partition), 1<<minSizeClass), f.limit)
		if f.requested > consumed && f.inFlight+weight > f.limit {
			return
		}
		if f.receiver == nil {
			f.receiver = newReceiver(ctx, f)
		}
		f.inFlight += weight
		s.weight, s.room = weight, semaphore.NewWeighted(weight)
		f.receiver.request(s)
	}
}

// request makes a goroutine receive a section. Each peer has at most one goroutine, which
// receives its sections in the order in which they were requested.
func (r *receiver) request(s *wantedSection) {
	address := s.output.Address
	if address == "" && s.output.Node != "" { // the executor has ended
		address, s.viaShuffleService = s.output.Node, true
	}
	r.mu.Lock()
	pending, running := r.pending[address]
	r.pending[address] = append(pending, s)
	r.mu.Unlock()
	if !running {
		r.running.Go(func() {
			if r.peerSlots.Acquire(r.ctx, 1) != nil {
				return
			}
			defer r.peerSlots.Release(1)
			for {
				r.mu.Lock()
				sections := r.pending[address]
				if len(sections) == 0 {
					delete(r.pending, address)
					r.mu.Unlock()
					return
				}
				r.pending[address] = nil
				r.mu.Unlock()
				r.receiveFrom(sections)
			}
		})
	}
}

// update calls change with the mutex held, to change a section, and wakes the consumer.
func (r *receiver) update(change func()) {
	r.mu.Lock()
	change()
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// consume yields the blocks of a section that was requested. It returns false if the
// sequence has ended, because of an error or because the consumer wants no more.
func (f *fetch) consume(ctx context.Context, s *wantedSection) bool {
	var blocks []receivedBlock
	for {
		f.receiver.mu.Lock()
		blocks, s.blocks = s.blocks, blocks[:0]
		done, err := s.done, s.err
		f.receiver.mu.Unlock()
		for i := range blocks {
			if !f.consumeBlock(s, &blocks[i]) {
				return false
			}
		}
		switch {
		case ctx.Err() != nil:
			f.yield(Records{}, context.Cause(ctx))
			return false
		case err != nil:
			f.yield(Records{}, err)
			return false
		case done:
			f.inFlight -= s.weight
			return true
		case len(blocks) > 0:
			continue
		}
		select {
		case <-f.receiver.changed:
		case <-ctx.Done():
		}
	}
}

// consumeBlock yields a block that was received. It returns false if the sequence has
// ended, as consume does.
func (f *fetch) consumeBlock(s *wantedSection, got *receivedBlock) bool {
	records, err := got.header.decode(got.stored, &f.raw)
	if err != nil {
		f.yield(Records{}, f.sectionError(s, err))
		return false
	}
	more := f.yield(records, nil)
	putBuffer(got.stored)
	got.stored = nil
	s.room.Release(got.weight)
	return more
}

// receiveFrom receives sections from one executor, until one of them fails or r.ctx ends.
func (r *receiver) receiveFrom(sections []*wantedSection) {
	for len(sections) > 0 {
		first, offset := sections[0], sections[0].offset
		rest, err := r.receiveReply(sections)
		if r.ctx.Err() != nil {
			return
		}
		sections = rest
		switch {
		case err == nil:
		case errors.Is(err, errStalled):
			s := sections[0]
			if s.room.Acquire(r.ctx, s.weight/2) != nil { // until the consumer has freed half of the room
				return
			}
			s.room.Release(s.weight / 2)
		case errors.Is(err, block.ErrDamaged) && !sections[0].reread:
			sections[0].reread = true
		case errors.Is(err, transfer.ErrUnreachable) && (sections[0] != first || first.offset != offset):
			// The connection broke after some bytes had arrived, so the next turn fetches
			// the rest.
		case !sections[0].viaShuffleService && sections[0].output.Node != "" && (errors.Is(err, transfer.ErrUnreachable) || errors.Is(err, block.ErrNotFound)):
			for _, s := range sections { // all are of the same executor
				s.viaShuffleService = s.output.Node != ""
			}
		default:
			r.update(func() { sections[0].err = r.sectionError(sections[0], err) })
			return
		}
	}
}

// receiveReply requests sections, all of one peer, and receives them. If it fails, it
// returns the sections that were not received completely; the first of them is the one that
// failed.
func (r *receiver) receiveReply(sections []*wantedSection) (rest []*wantedSection, err error) {
	if sections[0].viaShuffleService {
		return r.receiveFromNode(sections)
	}
	peers := r.service.options.Peers
	if peers == nil {
		return sections, errNoClient
	}
	ids := make([]block.ID, len(sections))
	for i, s := range sections {
		ids[i] = sectionID(s.output.MapID, r.partition, s.offset)
	}
	input := fileReaders.Get().(*bufio.Reader)
	defer func() {
		input.Reset(nil)
		fileReaders.Put(input)
	}()
	for got, err := range peers.Fetch(r.ctx, sections[0].output.Address, ids...) {
		if err == nil {
			input.Reset(got)
			err = r.receiveSection(string(got.ID), got.Size, input, sections[0])
		}
		if err != nil {
			return sections, err
		}
		sections = sections[1:]
	}
	return sections, nil
}

// receiveSection receives the blocks of s from s.offset on, which have size bytes, from
// input. name is for error messages.
func (r *receiver) receiveSection(name string, size int64, input *bufio.Reader, s *wantedSection) error {
	if size == 0 && s.offset == 0 {
		return errEmptySection
	}
	blocks := blockReader{input: input, name: name, left: size, offset: s.offset}
	for {
		h, err := blocks.header()
		if err == io.EOF {
			r.update(func() { s.done = true })
			return nil
		}
		if err != nil {
			return err
		}
		weight := min(bufferSize(h.storedSize), s.weight)
		if !r.reserve(s, weight) {
			return errStalled
		}
		stored := getBuffer(h.storedSize)
		if err := blocks.body(&h, stored); err != nil {
			putBuffer(stored)
			s.room.Release(weight)
			return err
		}
		s.offset = blocks.offset
		r.update(func() { s.blocks = append(s.blocks, receivedBlock{h, stored, weight}) })
	}
}

// reserve waits for room for a block of weight bytes, and reports whether there is room. If
// the section comes from an executor, reserve waits for at most r.stallTimeout. The caller
// then closes the connection, because the executor can send the rest later. A node's
// shuffle service can only send a whole section, so in its case reserve waits as long as
// necessary.
func (r *receiver) reserve(s *wantedSection, weight int64) bool {
	if s.room.TryAcquire(weight) {
		return true
	}
	if s.viaShuffleService {
		return s.room.Acquire(r.ctx, weight) == nil
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.stallTimeout)
	defer cancel()
	return s.room.Acquire(ctx, weight) == nil
}

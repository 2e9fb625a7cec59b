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

// stallTimeout is how long a connection to an executor waits for the consumer, when the
// consumer has no room for the next block. The connection is then closed, so that the peer
// does not time out and other fetches can open connections. When the consumer has room again,
// a new connection fetches the remaining blocks.
const stallTimeout = 5 * time.Second

var (
	errStalled      = errors.New("the consumer is slow")
	errEmptySection = fmt.Errorf("%w: the section is empty, but has records by its output's sizes", block.ErrDamaged)
	errNoClient     = fmt.Errorf("%w: the service has no client", transfer.ErrUnreachable)
)

// receivedSection has the fields of a wantedSection that are used only if the section is
// received from a peer. The receiver's mutex guards blocks, done and err.
type receivedSection struct {
	room   *semaphore.Weighted // limits the bytes of blocks that are received but not yet consumed
	weight int64               // capacity of room, in bytes
	blocks []receivedBlock
	done   bool
	err    error
}

// receivedBlock is a block that was received and whose checksum was verified.
type receivedBlock struct {
	header header
	stored []byte // stored bytes, in a buffer from getBuffer
	weight int64  // number of bytes of the section's room that the block occupies
}

// receiver receives sections for one Fetch.
type receiver struct {
	*fetch
	ctx       context.Context
	cancel    context.CancelFunc
	running   sync.WaitGroup
	peerSlots *semaphore.Weighted // limits the number of peers from which sections are received at a time
	changed   chan struct{}       // has an element if a section has changed since the consumer last checked

	mu      sync.Mutex
	pending map[string][]*wantedSection // requested sections that no goroutine receives yet, by the peer's address
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

// requestAhead requests sections in order, until f.limit is reached. It always requests the
// section that the consumer reads next, even beyond the limit; consumed is that section's index.
func (f *fetch) requestAhead(ctx context.Context, consumed int) {
	for ; f.requested < len(f.sections); f.requested++ {
		s := f.sections[f.requested]
		if s.local {
			continue
		}
		// The weight is twice the size, because a buffer can be twice as large as its block.
		// It is at least the smallest capacity of a pooled buffer, and at most f.limit.
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

// request queues a section to be received. For each peer, at most one goroutine receives
// sections, in the order in which they were requested. request starts the goroutine if
// necessary.
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

// update calls the function change, which changes a section, while it holds the mutex. It then
// wakes the consumer.
func (r *receiver) update(change func()) {
	r.mu.Lock()
	change()
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// consume yields the blocks of a section that was requested. It returns false if the sequence
// has ended, because of an error or because yield returned false.
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

// consumeBlock yields a received block. It returns false if the sequence has ended, as consume
// does.
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
			if s.room.Acquire(r.ctx, s.weight/2) != nil { // waits until the consumer has freed half of the room
				return
			}
			s.room.Release(s.weight / 2)
		case errors.Is(err, block.ErrDamaged) && !sections[0].reread:
			sections[0].reread = true
		case errors.Is(err, transfer.ErrUnreachable) && (sections[0] != first || first.offset != offset):
			// The connection failed after some bytes had arrived, so the next iteration
			// requests the remaining bytes.
		case !sections[0].viaShuffleService && sections[0].output.Node != "" && (errors.Is(err, transfer.ErrUnreachable) || errors.Is(err, block.ErrNotFound)):
			for _, s := range sections { // all sections are of the same executor
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

// receiveSection reads, from input, the blocks of s that begin at s.offset or later. Together
// they have size bytes. name is used in error messages.
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

// reserve waits for room for a block of weight bytes, and reports whether it acquired the
// room. If the section comes from an executor, reserve waits for at most r.stallTimeout; the
// caller then closes the connection, because the executor can send the remaining blocks later.
// If the section comes from a node's shuffle service, reserve waits without limit, because a
// shuffle service can only send whole sections.
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

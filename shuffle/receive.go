package shuffle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
)

// stallTimeout is how long a connection waits for the consumer. Then it is closed, and
// another is opened when there is room: the peer must not time out, and other fetches
// may need the connection.
const stallTimeout = 5 * time.Second

var (
	errStalled = errors.New("the consumer is slow")
	errEmpty   = fmt.Errorf("%w: the section is empty, but has records by its output's sizes", block.ErrDamaged)
	errNoPeers = fmt.Errorf("%w: the service has no client", transfer.ErrUnreachable)
)

// receive starts goroutines that receive sections, which are given by the addresses of
// their executors. It closes f.blocks after the last block. stop ends the goroutines and
// waits for them.
func (f *fetch) receive(ctx context.Context, sections map[string][]*wanted) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	pending := make(chan []*wanted, len(sections))
	for _, of := range sections { // in random order: peers are not asked by all at once
		pending <- of
	}
	close(pending)
	var running, closing sync.WaitGroup
	for range min(maxPeers, len(sections)) {
		running.Go(func() {
			for of := range pending {
				if err := f.receiveFrom(ctx, of); err != nil {
					f.blocks.push(fetched{err: err})
					return
				}
			}
		})
	}
	closing.Go(func() {
		running.Wait()
		f.blocks.close()
	})
	return func() {
		cancel()
		closing.Wait()
	}
}

// receiveFrom receives sections from one executor. It returns the error that ends the
// fetch, nil if ctx ends.
func (f *fetch) receiveFrom(ctx context.Context, sections []*wanted) error {
	for len(sections) > 0 {
		first, offset := sections[0], sections[0].offset
		rest, err := f.request(ctx, sections)
		if ctx.Err() != nil {
			return nil
		}
		sections = rest
		switch {
		case err == nil:
		case errors.Is(err, errStalled):
			if f.inFlight.Acquire(ctx, f.limit/2) != nil { // until half was consumed
				return nil
			}
			f.inFlight.Release(f.limit / 2)
		case errors.Is(err, block.ErrDamaged) && !sections[0].reread:
			sections[0].reread = true
		case errors.Is(err, transfer.ErrUnreachable) && (sections[0] != first || first.offset != offset):
			// The connection broke after it had brought something.
		default:
			return f.failed(sections[0], err)
		}
	}
	return nil
}

// request receives sections by one request. It returns the sections that remain, the
// one of the error first.
func (f *fetch) request(ctx context.Context, sections []*wanted) (rest []*wanted, err error) {
	if f.service.options.Peers == nil {
		return sections, errNoPeers
	}
	ids := make([]block.ID, len(sections))
	for i, w := range sections {
		ids[i] = sectionID(w.output.MapID, f.partition, w.offset)
	}
	input := fileReaders.Get().(*bufio.Reader)
	defer func() {
		input.Reset(nil)
		fileReaders.Put(input)
	}()
	for got, err := range f.service.options.Peers.Fetch(ctx, sections[0].output.Address, ids...) {
		if err == nil {
			input.Reset(got)
			err = f.receiveSection(ctx, got, input, sections[0])
		}
		if err != nil {
			return sections, err
		}
		sections = sections[1:]
	}
	return sections, nil
}

// receiveSection receives the blocks of a section and sends them to the consumer.
func (f *fetch) receiveSection(ctx context.Context, got *transfer.Block, input *bufio.Reader, w *wanted) error {
	if got.Size == 0 && w.offset == 0 {
		return errEmpty
	}
	blocks := blockReader{input: input, name: string(got.ID), left: got.Size, offset: w.offset}
	for {
		h, err := blocks.header()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		weight := min(bufferSize(h.stored), f.limit)
		if !f.reserve(ctx, weight) {
			return errStalled
		}
		stored := getBuffer(h.stored)
		if err := blocks.body(&h, stored); err != nil {
			putBuffer(stored)
			f.inFlight.Release(weight)
			return err
		}
		w.offset = blocks.offset
		f.blocks.push(fetched{from: w, header: h, stored: stored, weight: weight})
	}
}

// reserve waits for room for a block, for a limited time.
func (f *fetch) reserve(ctx context.Context, weight int64) bool {
	if f.inFlight.TryAcquire(weight) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, f.stall)
	defer cancel()
	return f.inFlight.Acquire(ctx, weight) == nil
}

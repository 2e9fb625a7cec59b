package broadcast

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/block/transfer"
)

// loadFetches is how many pieces of one value a peer fetches concurrently.
const loadFetches = 4

// loadCall is one call of Peer.Load.
type loadCall struct {
	peer  *Peer
	value Value
	homes []string

	mu   sync.Mutex
	lost map[string]bool // homes that could not be reached
}

// run fetches all pieces and returns the encoded value. Executors start with different
// pieces, so that they do not all send their first requests to the same home.
func (l *loadCall) run(ctx context.Context) (encoded []byte, err error) {
	p, v := l.peer, l.value
	if l.homes, err = p.homes(ctx, v.Source); err != nil {
		return nil, err
	}
	encoded = make([]byte, v.Size)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(loadFetches)
	n := v.pieces()
	first := int(xxh3.HashString(p.options.Address) % uint64(max(n, 1)))
	for next := range n {
		i := (first + next) % n
		group.Go(func() error {
			select {
			case p.slots <- struct{}{}:
				defer func() { <-p.slots }()
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			return l.fetch(ctx, piece{v.ID, i}, v.slice(encoded, i))
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return encoded, v.check(encoded)
}

// fetch fetches a piece from its home, or from the source if the home cannot serve it.
func (l *loadCall) fetch(ctx context.Context, wanted piece, content []byte) error {
	failed := l.fetchFromHome(ctx, wanted, content)
	if failed == nil || ctx.Err() != nil {
		return failed
	}
	err := l.peer.fetch(ctx, l.value.Source, wanted.id(), content)
	if err != nil && !errors.Is(failed, errNoHome) {
		return fmt.Errorf("%w (after: %w)", err, failed)
	}
	return err
}

// errNoHome means that no executor is registered, or that the piece's home could not be
// reached.
var errNoHome = errors.New("there is no home")

func (l *loadCall) fetchFromHome(ctx context.Context, wanted piece, content []byte) error {
	home := wanted.home(l.homes)
	l.mu.Lock()
	lost := l.lost[home]
	l.mu.Unlock()
	switch {
	case home == "" || lost:
		return errNoHome
	case home == l.peer.options.Address:
		reader, err := l.peer.open(ctx, wanted, l.value.Source)
		if err != nil {
			return err
		}
		defer reader.Release()
		_, err = reader.ReadAt(content, 0)
		return err
	}
	err := l.peer.fetch(ctx, home, wanted.at(l.value.Source), content)
	if errors.Is(err, transfer.ErrUnreachable) {
		l.mu.Lock()
		l.lost[home] = true
		l.mu.Unlock()
	}
	return err
}

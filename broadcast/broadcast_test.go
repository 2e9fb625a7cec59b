package broadcast

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// application is the source of an application, and the data port that serves it to peers.
type application struct {
	access *tls.Config
	*Source
	port *transfer.Server // of the source
}

// testPiece is the size of pieces in tests.
const testPiece = 100_000

func newApplication(t *testing.T, blocks block.Options) *application {
	id, err := identity.New()
	require.NoError(t, err)
	pass, err := identity.ParsePass(id.Pass())
	require.NoError(t, err)
	access, err := pass.PeerTLS()
	require.NoError(t, err)
	a := &application{access: access, Source: NewSource(blocks)}
	a.piece = testPiece
	t.Cleanup(a.Close)
	a.port, err = transfer.Listen("127.0.0.1:0", a.Open, a.options())
	require.NoError(t, err)
	t.Cleanup(a.port.Close)
	a.Advertise(a.port.Addr().String())
	return a
}

func (a *application) options() transfer.Options {
	return transfer.Options{TLS: a.access, Timeout: 10 * time.Second}
}

// executor is a peer with a store and a data port.
type executor struct {
	*Peer
	store *block.Store
	port  *transfer.Server
}

// start starts an executor and registers it as a home.
func (a *application) start(t *testing.T) *executor {
	e := &executor{store: block.New(block.Options{Memory: 1 << 30})}
	var err error
	e.port, err = transfer.Listen("127.0.0.1:0", func(id block.ID) (transfer.Content, error) { return e.Peer.Open(id) }, a.options())
	require.NoError(t, err)
	client := transfer.NewClient(a.options())
	e.Peer = NewPeer(Options{Store: e.store, Peers: client, Address: e.port.Addr().String()})
	t.Cleanup(func() {
		e.Peer.Close()
		e.port.Close()
		client.Close()
		e.store.Close()
	})
	a.AddHome(e.options.Address)
	return e
}

func (e *executor) stored() int { return len(e.store.Status().Blocks) }

func randomBytes(n int) []byte {
	value := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(value)
	return value
}

// loadAll loads a value at all executors at the same time.
func loadAll(t *testing.T, executors []*executor, v Value, want []byte) {
	var loading sync.WaitGroup
	failures := make([]error, len(executors))
	for i, e := range executors {
		loading.Go(func() {
			got, err := e.Load(t.Context(), v)
			if err == nil && !bytes.Equal(got, want) {
				err = errors.New("other bytes")
			}
			failures[i] = err
		})
	}
	loading.Wait()
	require.NoError(t, errors.Join(failures...))
}

func TestEachPieceLeavesTheSourceOnce(t *testing.T) {
	for _, size := range []int{0, 1, testPiece, 9*testPiece + 7} {
		a := newApplication(t, block.Options{Memory: 1 << 30})
		executors := []*executor{a.start(t), a.start(t), a.start(t)}
		encoded := randomBytes(size)
		v, err := a.Add(7, encoded)
		require.NoError(t, err)
		for range 2 {
			loadAll(t, executors, v, encoded)
			require.EqualValues(t, size, a.Sent(7))
			require.Equal(t, v.pieces(), executors[0].stored()+executors[1].stored()+executors[2].stored())
		}
		read, err := a.Read(v)
		require.NoError(t, err)
		require.Equal(t, encoded, read)
	}
}

// An executor that registers later becomes the home of some pieces, and fetches only these
// pieces from the source.
func TestALaterHome(t *testing.T) {
	a := newApplication(t, block.Options{Memory: 1 << 30})
	first := a.start(t)
	encoded := randomBytes(12 * testPiece)
	v, err := a.Add(1, encoded)
	require.NoError(t, err)
	loadAll(t, []*executor{first}, v, encoded)
	require.EqualValues(t, len(encoded), a.Sent(1))
	second := a.start(t)
	loadAll(t, []*executor{first, second}, v, encoded)
	require.EqualValues(t, len(encoded)+second.stored()*testPiece, a.Sent(1))
	require.Less(t, second.stored(), 12)
}

func TestALostHome(t *testing.T) {
	a := newApplication(t, block.Options{Memory: 1 << 30})
	lost, left := a.start(t), a.start(t)
	lost.port.Close()
	encoded := randomBytes(9 * testPiece)
	v, err := a.Add(1, encoded)
	require.NoError(t, err)
	loadAll(t, []*executor{left}, v, encoded)
	require.EqualValues(t, len(encoded), a.Sent(1))

	a.RemoveHome(lost.options.Address)
	loadAll(t, []*executor{left}, v, encoded)
	require.Equal(t, 9, left.stored())
}

// If a piece is damaged in the store of its home, the home fetches it again.
func TestADamagedPiece(t *testing.T) {
	a := newApplication(t, block.Options{})
	e := a.start(t)
	encoded := randomBytes(testPiece)
	v, err := a.Add(1, encoded)
	require.NoError(t, err)
	e.store.Close()
	directory := t.TempDir()
	e.store = block.New(block.Options{Directory: directory})
	e.options.Store = e.store
	loadAll(t, []*executor{e}, v, encoded)
	require.NoError(t, os.RemoveAll(directory))
	require.NoError(t, os.Mkdir(directory, 0o700))
	loadAll(t, []*executor{e}, v, encoded)
}

func TestLoadErrors(t *testing.T) {
	a := newApplication(t, block.Options{Memory: 1 << 30})
	e, other := a.start(t), a.start(t)
	v, err := a.Add(1, randomBytes(3*testPiece))
	require.NoError(t, err)

	wrong := v
	wrong.Checksum++
	_, err = e.Load(t.Context(), wrong)
	require.ErrorIs(t, err, block.ErrDamaged)
	require.ErrorContains(t, err, "broadcast value 1 (300000 bytes)")

	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	_, err = e.Load(ctx, v)
	require.ErrorIs(t, err, reason)

	_, err = (*Peer)(nil).Load(t.Context(), v)
	require.ErrorIs(t, err, errNoPeer)
	alone := NewPeer(Options{Store: e.store})
	defer alone.Close()
	_, err = alone.Load(t.Context(), v)
	require.ErrorIs(t, err, errNoPeers)
	_, err = alone.Open(piece{1, 0}.at("127.0.0.1:1"))
	require.ErrorIs(t, err, block.ErrNotFound)
	_, err = e.Open("broadcastpiece_1_0") // a request to a home must contain the source
	require.ErrorIs(t, err, block.ErrNotFound)

	a.Remove(1)
	_, err = a.Read(v)
	require.ErrorIs(t, err, block.ErrNotFound)
	e.Release(Key(1))
	other.Release(Key(1)) // other may be the home of all pieces
	_, err = e.Load(t.Context(), v)
	require.ErrorIs(t, err, block.ErrNotFound)
	_, err = other.Load(t.Context(), Value{ID: 2, Size: 1, Piece: 1, Source: v.Source})
	require.ErrorIs(t, err, block.ErrNotFound)

	a.port.Close()
	_, err = e.Load(t.Context(), v)
	require.ErrorIs(t, err, transfer.ErrUnreachable)
	require.ErrorContains(t, err, v.Source)
}

func TestRelease(t *testing.T) {
	a := newApplication(t, block.Options{Memory: 1 << 30})
	e := a.start(t)
	encoded := randomBytes(2 * testPiece)
	one, err := a.Add(1, encoded)
	require.NoError(t, err)
	ten, err := a.Add(10, encoded)
	require.NoError(t, err)
	loadAll(t, []*executor{e}, one, encoded)
	loadAll(t, []*executor{e}, ten, encoded)
	dropped := map[uint64]int{}
	drop := func(value uint64) { e.OnRelease(value, func() { dropped[value]++ }) }
	drop(1)
	drop(10)
	e.Release("broadcastpiece_")
	e.Release("rdd_1")
	require.Equal(t, 4, e.stored())
	e.Release(Key(1))
	require.Equal(t, 2, e.stored())
	require.Equal(t, map[uint64]int{1: 1}, dropped)
	drop(1)
	require.Equal(t, map[uint64]int{1: 2}, dropped)
	e.Reset()
	e.Reset()
	require.Equal(t, map[uint64]int{1: 2, 10: 1}, dropped)
	drop(10)
	e.Close()
	e.Close()
	require.Equal(t, map[uint64]int{1: 2, 10: 2}, dropped)
}

// Close cancels a fetch from the source on which a request at the peer's data port waits.
func TestCloseEndsFetches(t *testing.T) {
	a := newApplication(t, block.Options{Memory: 1 << 30})
	requested, silent := make(chan struct{}), make(chan struct{})
	port, err := transfer.Listen("127.0.0.1:0", func(block.ID) (transfer.Content, error) {
		close(requested)
		<-silent
		return nil, block.ErrNotFound
	}, a.options())
	require.NoError(t, err)
	defer port.Close()
	defer close(silent)
	e := a.start(t)
	opened := make(chan error)
	go func() {
		_, err := e.Open(piece{1, 0}.at(port.Addr().String()))
		opened <- err
	}()
	<-requested
	e.Close()
	require.ErrorIs(t, <-opened, block.ErrNotFound)
}

// A source with little memory stores pieces on disk. It removes them with their value.
func TestSourceUsesDisk(t *testing.T) {
	directory := t.TempDir()
	s := NewSource(block.Options{Memory: testPiece, Directory: directory})
	s.piece = testPiece
	encoded := randomBytes(5*testPiece + 1)
	v, err := s.Add(1, encoded)
	require.NoError(t, err)
	require.LessOrEqual(t, s.store.Status().Memory, int64(testPiece))
	read, err := s.Read(v)
	require.NoError(t, err)
	require.Equal(t, encoded, read)
	s.Remove(1)
	s.Remove(1)
	require.Empty(t, s.store.Status().Blocks)
	s.Close()
	_, err = s.Add(2, encoded)
	require.ErrorIs(t, err, block.ErrClosed)
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestPieceIDs(t *testing.T) {
	p := piece{12, 3}
	require.Equal(t, block.ID("broadcastpiece_12_3"), p.id())
	parsed, source, ok := parse(p.at("host:1"))
	require.True(t, ok)
	require.Equal(t, p, parsed)
	require.Equal(t, "host:1", source)
	for _, id := range []block.ID{"", "broadcastpiece_", "broadcastpiece_1", "broadcastpiece_1_x", "broadcastpiece_1_2_3", "broadcastpiece_01_2",
		"broadcastpiece_1_2@", "1_2", "rdd_1_2", "broadcastpiece_-1_2"} {
		_, _, ok := parse(id)
		require.False(t, ok, id)
	}
}

func TestHomesShareThePieces(t *testing.T) {
	homes := []string{"a:1", "b:1", "c:1", "d:1"}
	count := map[string]int{}
	for i := range 1000 {
		p := piece{3, i}
		home := p.home(homes)
		count[home]++
		if home != "d:1" {
			require.Equal(t, home, p.home(homes[:3]), "another home was removed")
		}
	}
	for _, home := range homes {
		require.InDelta(t, 250, count[home], 75, fmt.Sprint(count))
	}
	require.Empty(t, piece{}.home(nil))
}

package transfer

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// large is a size in bytes that exceeds the buffers of sockets.
const large = 64 << 20

func content(seed byte, size int) []byte {
	value := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(value) // never fails
	return value
}

// access returns the TLS configuration for a new application.
func access(t testing.TB) *tls.Config {
	id, err := identity.New()
	require.NoError(t, err)
	pass, err := identity.ParsePass(id.Pass())
	require.NoError(t, err)
	config, err := pass.PeerTLS()
	require.NoError(t, err)
	return config
}

// ends is a log handler that receives a value when a server's connection ends.
type ends chan struct{}

func (e ends) Enabled(context.Context, slog.Level) bool { return true }
func (e ends) WithAttrs([]slog.Attr) slog.Handler       { return e }
func (e ends) WithGroup(string) slog.Handler            { return e }
func (e ends) Handle(_ context.Context, record slog.Record) error {
	if record.Level == slog.LevelDebug {
		e <- struct{}{}
	}
	return nil
}

// fixture is a store, a server that serves the store's blocks, and a client.
type fixture struct {
	*testing.T
	store   *block.Store
	files   string
	server  *Server
	client  *Client
	address string
	ended   ends // receives a value when a connection of the server ends
	close   func()
}

func newFixture(t *testing.T, options Options) *fixture {
	f := &fixture{T: t, files: t.TempDir(), ended: make(ends, 1000)}
	f.store = block.New(block.Options{Memory: 1 << 30, Directory: f.files})
	if options.TLS == nil {
		options.TLS = access(t)
	}
	options.Logger = slog.New(f.ended)
	server, err := Listen("127.0.0.1:0", FromStore(f.store), options)
	require.NoError(t, err)
	f.server, f.client, f.address = server, NewClient(options), server.Addr().String()
	f.close = sync.OnceFunc(server.Close)
	t.Cleanup(func() { f.client.Close(); f.close(); f.store.Close() })
	return f
}

func (f *fixture) put(id block.ID, value []byte, level block.Level) {
	require.NoError(f, f.store.Put(id, value, level))
}

func (f *fixture) fetch(id block.ID) ([]byte, error) {
	for got, err := range f.client.Fetch(f.Context(), f.address, id) {
		if err != nil {
			return nil, err
		}
		return io.ReadAll(got)
	}
	return nil, errors.New("the sequence was empty")
}

func requireFailed(t testing.TB, err, reason error, address string, id block.ID) {
	var failed *Error
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, reason)
	require.Equal(t, []any{address, id}, []any{failed.Address, failed.Block})
	require.ErrorContains(t, err, address)
	require.ErrorContains(t, err, string(id))
}

func TestFetchReturnsThePutBytes(t *testing.T) {
	f := newFixture(t, Options{})
	sizes := []int{0, 1, 1023, block.ChunkSize - 1, block.ChunkSize, block.ChunkSize + 1, 5*block.ChunkSize + 17}
	var ids []block.ID
	for i, size := range sizes {
		for level := range 3 {
			id := block.TaskResult(uint64(len(ids)))
			f.put(id, content(byte(i), size), block.Level(level))
			ids = append(ids, id)
		}
		ids = append(ids, block.Held(fmt.Sprintf("missing %d", i)))
	}
	n := 0
	for got, err := range f.client.Fetch(t.Context(), f.address, ids...) {
		id, size := ids[n], sizes[n/4]
		if n%4 == 3 {
			requireFailed(t, err, block.ErrNotFound, f.address, id)
		} else {
			require.NoError(t, err)
			require.Equal(t, id, got.ID)
			require.EqualValues(t, size, got.Size)
			value, err := io.ReadAll(got)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content(byte(n/4), size), value), size)
		}
		n++
	}
	require.Len(t, ids, n)
}

func TestFetchOfMoreBlocksThanARequestHas(t *testing.T) {
	f := newFixture(t, Options{})
	var ids []block.ID
	for i := range 2*maxIDs + 1 {
		ids = append(ids, block.TaskResult(uint64(i)))
		f.put(ids[i], fmt.Append(nil, i), block.MemoryOnly)
	}
	n := 0
	for got, err := range f.client.Fetch(t.Context(), f.address, ids...) {
		require.NoError(t, err)
		value, err := io.ReadAll(got)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(n), string(value))
		n++
	}
	require.Len(t, ids, n)
	require.Len(t, f.client.idle, 1)
}

func TestUnreadBlocksAreSkipped(t *testing.T) {
	f := newFixture(t, Options{})
	f.put("a", content(1, 5*block.ChunkSize), block.MemoryOnly)
	f.put("b", content(2, 10), block.MemoryOnly)
	var skipped *Block
	for got, err := range f.client.Fetch(t.Context(), f.address, "a", "a", "b") {
		require.NoError(t, err)
		switch {
		case skipped == nil:
			_, err := io.ReadFull(got, make([]byte, 100))
			require.NoError(t, err)
		case got.ID == "b":
			value, err := io.ReadAll(got)
			require.NoError(t, err)
			require.Equal(t, content(2, 10), value)
		}
		if skipped != nil {
			_, err := skipped.Read(make([]byte, 1))
			require.ErrorIs(t, err, errSkipped)
		}
		skipped = got
	}
	_, err := skipped.Read(make([]byte, 1))
	require.ErrorIs(t, err, errSkipped)
}

func TestConnectionsAreReused(t *testing.T) {
	f := newFixture(t, Options{})
	f.put("a", content(1, 1000), block.MemoryOnly)
	f.put("large", content(1, large), block.MemoryOnly)
	for range 10 {
		_, err := f.fetch("a")
		require.NoError(t, err)
	}
	require.Len(t, f.client.idle, 1)
	require.Empty(t, f.ended)
	for range f.client.Fetch(t.Context(), f.address, "large") {
		break // bytes of the reply remain unread
	}
	require.Empty(t, f.client.idle)
	<-f.ended
	_, err := f.fetch("a")
	require.NoError(t, err)
	f.client.Close()
	<-f.ended
	_, err = f.fetch("a")
	require.NoError(t, err)
	<-f.ended // Close of the client has closed the connection
}

func TestUnusedConnectionsAreClosed(t *testing.T) {
	f := newFixture(t, Options{Timeout: 4 * time.Second})
	_, err := f.fetch("a")
	require.ErrorIs(t, err, block.ErrNotFound)
	<-f.ended // the client closes the idle connection after a quarter of the timeout
	f.client.mu.Lock()
	defer f.client.mu.Unlock()
	require.Empty(t, f.client.idle)
}

func TestOpenFetchesAreLimited(t *testing.T) {
	f := newFixture(t, Options{MaxFetches: 2})
	f.put("a", content(1, 10), block.MemoryOnly)
	for range f.client.Fetch(t.Context(), f.address, "a") {
		for range f.client.Fetch(t.Context(), f.address, "a") {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errors.New("enough of waiting"))
			for _, err := range f.client.Fetch(ctx, f.address, "a") {
				require.EqualError(t, err, "enough of waiting")
			}
		}
	}
	require.Len(t, f.client.idle, 2)

	for range 3 {
		other, err := Listen("127.0.0.1:0", FromStore(f.store), f.client.options)
		require.NoError(t, err)
		t.Cleanup(other.Close)
		for _, err := range f.client.Fetch(t.Context(), other.Addr().String(), "missing") {
			require.ErrorIs(t, err, block.ErrNotFound)
		}
	}
	<-f.ended
	<-f.ended
	<-f.ended // the two idle connections and the first of the three new ones
	require.Len(t, f.client.idle, 2)
}

func TestConcurrentFetches(t *testing.T) {
	f := newFixture(t, Options{MaxFetches: 8})
	var ids []block.ID
	for i := range 40 {
		ids = append(ids, block.TaskResult(uint64(i)))
		f.put(ids[i], content(byte(i), i*3000), block.Level(i%3))
	}
	var fetches sync.WaitGroup
	for worker := range 32 {
		fetches.Go(func() {
			for turn := range 5 {
				n := (worker + turn) % len(ids)
				for got, err := range f.client.Fetch(t.Context(), f.address, ids[n:]...) {
					if err != nil {
						t.Error(err)
						return
					}
					value, err := io.ReadAll(got)
					if err != nil || !bytes.Equal(value, content(byte(n), n*3000)) {
						t.Errorf("%s: %d bytes, error %v", got.ID, len(value), err)
					}
					if n++; n%7 == worker%7 {
						break
					}
				}
			}
		})
	}
	fetches.Wait()
	require.LessOrEqual(t, len(f.client.idle), 8)
}

func BenchmarkFetch(b *testing.B) {
	config := access(b)
	store := block.New(block.Options{Memory: 1 << 30})
	defer store.Close()
	server, err := Listen("127.0.0.1:0", FromStore(store), Options{TLS: config})
	require.NoError(b, err)
	defer server.Close()
	client := NewClient(Options{TLS: config})
	defer client.Close()
	small := make([]block.ID, 256)
	for i := range small {
		small[i] = block.TaskResult(uint64(i))
		require.NoError(b, store.Put(small[i], content(1, 1<<10), block.MemoryOnly))
	}
	require.NoError(b, store.Put("large", content(1, large), block.MemoryOnly))
	for name, ids := range map[string][]block.ID{"1KB": small[:1], "256x1KB": small, "64MB": {"large"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			buffer := make([]byte, block.ChunkSize)
			for b.Loop() {
				total := 0
				for got, err := range client.Fetch(b.Context(), server.Addr().String(), ids...) {
					for err == nil {
						var n int
						n, err = got.Read(buffer)
						total += n
					}
					if err != io.EOF {
						b.Fatal(err)
					}
				}
				b.SetBytes(int64(total))
			}
		})
	}
}

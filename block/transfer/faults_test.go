package transfer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/block"
)

func TestOtherApplicationsAreRefused(t *testing.T) {
	ours, theirs := access(t), access(t)
	f := newFixture(t, Options{TLS: ours})
	f.put("a", content(1, 10), block.MemoryOnly)
	fetch := func(config *tls.Config, address string) error {
		client := NewClient(Options{TLS: config})
		defer client.Close()
		for _, err := range client.Fetch(t.Context(), address, "a") {
			return err
		}
		return nil
	}
	requireFailed(t, fetch(theirs, f.address), ErrUnreachable, f.address, "a")

	// Each end must refuse a certificate of another application, even if the other end checks
	// no certificates.
	careless := theirs.Clone()
	careless.VerifyConnection = nil
	err := fetch(careless, f.address)
	requireFailed(t, err, ErrUnreachable, f.address, "a")
	require.ErrorContains(t, err, "bad certificate")

	impostor, err := Listen("127.0.0.1:0", FromStore(f.store), Options{TLS: careless})
	require.NoError(t, err)
	defer impostor.Close()
	err = fetch(ours, impostor.Addr().String())
	requireFailed(t, err, ErrUnreachable, impostor.Addr().String(), "a")
	require.ErrorContains(t, err, "not of this application")
	require.NoError(t, fetch(ours, f.address))
}

func TestDamagedBlocks(t *testing.T) {
	f := newFixture(t, Options{})
	f.put("disk", content(1, 3*block.ChunkSize), block.DiskOnly)
	value := content(2, 3*block.ChunkSize)
	f.put("memory", value, block.MemoryOnly)
	f.put("whole", content(3, 10), block.MemoryOnly)
	found, err := filepath.Glob(filepath.Join(f.files, "*", "*"))
	require.NoError(t, err)
	file, err := os.OpenFile(found[0], os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteAt([]byte{^content(1, 3*block.ChunkSize)[block.ChunkSize]}, block.ChunkSize)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	value[2*block.ChunkSize]++ // damages the block after Put, so that only the receiver can notice it

	for got, err := range f.client.Fetch(t.Context(), f.address, "disk", "memory", "whole", "disk", "memory", "whole") {
		require.NoError(t, err)
		read, err := io.ReadAll(got)
		switch got.ID {
		case "whole":
			require.NoError(t, err)
			require.Equal(t, content(3, 10), read)
			continue
		case "disk":
			require.Len(t, read, block.ChunkSize)
			require.ErrorContains(t, err, found[0])
		case "memory":
			require.Len(t, read, 2*block.ChunkSize)
			require.ErrorContains(t, err, "other bytes arrived")
		}
		requireFailed(t, err, block.ErrDamaged, f.address, got.ID)
		require.NotErrorIs(t, err, ErrUnreachable)
	}
	require.Len(t, f.client.idle, 1, "the connection is kept")

	require.NoError(t, os.Remove(found[0]))
	_, err = f.fetch("disk")
	requireFailed(t, err, block.ErrDamaged, f.address, "disk")
}

func TestRemoveDuringFetch(t *testing.T) {
	for name, level := range map[string]block.Level{"memory": block.MemoryOnly, "disk": block.DiskOnly} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Options{})
			f.put("large", content(1, large), level)
			for got, err := range f.client.Fetch(t.Context(), f.address, "large", "large") {
				if err == nil {
					require.True(t, f.store.Remove("large"))
					value := bytes.NewBuffer(make([]byte, 0, large+bytes.MinRead))
					_, err := value.ReadFrom(got)
					require.NoError(t, err)
					require.True(t, bytes.Equal(content(1, large), value.Bytes()))
				} else {
					requireFailed(t, err, block.ErrNotFound, f.address, "large")
				}
			}
			f.close()
			require.Zero(t, f.store.Status().Memory)
			left, err := filepath.Glob(filepath.Join(f.files, "*", "*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// If a reader stops reading, the server closes its connection and unpins its block. Other
// fetches are not delayed.
func TestAReaderThatStopsDelaysNoOtherFetch(t *testing.T) {
	f := newFixture(t, Options{Timeout: 2 * time.Second})
	f.put("large", content(1, large), block.MemoryOnly)
	f.put("small", content(2, 100), block.MemoryOnly)
	for got, err := range f.client.Fetch(t.Context(), f.address, "large", "small") {
		if err != nil {
			requireFailed(t, err, ErrUnreachable, f.address, "small")
			break
		}
		value, err := f.fetch("small")
		require.NoError(t, err)
		require.Equal(t, content(2, 100), value)
		for range 2 { // the idle connection of the fetch of the small block ends too
			<-f.ended
		}
		for _, b := range f.store.Status().Blocks {
			require.Zero(t, b.Pins)
		}
		_, err = io.Copy(io.Discard, got)
		requireFailed(t, err, ErrUnreachable, f.address, "large")
	}
}

// A fetch of a whole block may take longer than the timeout. A single read or write may not.
func TestConnectionsFailAfterTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		sender, receiver := timedConn{near, time.Second}, timedConn{far, time.Second}
		var sent error
		var sending sync.WaitGroup
		sending.Go(func() {
			for sent == nil {
				_, sent = sender.Write([]byte{1})
			}
		})
		for range 10 {
			time.Sleep(900 * time.Millisecond)
			_, err := receiver.Read(make([]byte, 1))
			require.NoError(t, err)
		}
		began := time.Now()
		sending.Wait()
		require.ErrorIs(t, sent, os.ErrDeadlineExceeded)
		_, err := receiver.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(began))
		_, _ = near.Close(), far.Close()
	})
}

func TestPeerEndsDuringFetch(t *testing.T) {
	f := newFixture(t, Options{})
	f.put("large", content(1, large), block.MemoryOnly)
	fetched := 0
	for got, err := range f.client.Fetch(t.Context(), f.address, "large", "next", "last") {
		if fetched++; fetched == 1 {
			require.NoError(t, err)
			_, err = io.CopyN(io.Discard, got, 10)
			require.NoError(t, err)
			f.close()
			_, err = io.Copy(io.Discard, got)
			requireFailed(t, err, ErrUnreachable, f.address, "large")
		} else {
			requireFailed(t, err, ErrUnreachable, f.address, "next")
		}
	}
	require.Equal(t, 1, fetched, "the sequence ends with the connection")
	_, err := f.fetch("large")
	requireFailed(t, err, ErrUnreachable, f.address, "large")
}

func TestFetchFailsIfThePeerDoesNotReply(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	client := NewClient(Options{TLS: access(t), Timeout: 50 * time.Millisecond})
	defer client.Close()
	for _, err := range client.Fetch(t.Context(), listener.Addr().String(), "a") {
		requireFailed(t, err, ErrUnreachable, listener.Addr().String(), "a")
	}
}

func TestContextEndsDuringFetch(t *testing.T) {
	f := newFixture(t, Options{})
	f.put("large", content(1, large), block.MemoryOnly)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	fetched := 0
	for got, err := range f.client.Fetch(ctx, f.address, "large", "large") {
		fetched++
		require.NoError(t, err)
		cancel(enough)
		_, err = io.Copy(io.Discard, got)
		require.Equal(t, enough, err, "not a failed fetch")
	}
	require.Equal(t, 1, fetched)
	require.Empty(t, f.client.idle)

	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	for got, err := range f.client.Fetch(ctx, f.address, "large") {
		if err == nil {
			<-ctx.Done()
			_, err = io.Copy(io.Discard, got)
		}
		require.Equal(t, context.DeadlineExceeded, err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(appendRequest(nil, []block.ID{"a", "", block.TaskResult(1)}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		ids, err := readRequest(bufio.NewReader(bytes.NewReader(encoded)))
		if err == nil {
			again, err := readRequest(bufio.NewReader(bytes.NewReader(appendRequest(nil, ids))))
			require.NoError(t, err)
			require.Equal(t, ids, again)
		}
	})
}

// Reading a reply must return, whatever bytes the reply has.
func FuzzReply(f *testing.F) {
	f.Add([]byte{statusFound, 0, statusMissing, statusDamaged, 1, 'x'})
	f.Add([]byte{statusFound, 1, statusFound, 0x52, 0x7d, 0x53, 0x51, 0, statusDamaged, 0})
	f.Add([]byte{statusFound, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, statusFound})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		r := &reply{ctx: t.Context(), input: bufio.NewReaderSize(bytes.NewReader(encoded), bufferBytes)}
		for r.err == nil {
			if got, err := r.next("id"); err == nil {
				_, _ = io.Copy(io.Discard, got)
				got.skip()
			}
		}
	})
}

package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// timeout limits the wait for events that are immediate on an idle machine.
const timeout = time.Minute

func logger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

// text returns n bytes without a short period.
func text(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// readAll reads a file in pieces of the given size.
func readAll(r *Reader, size int) ([]byte, error) {
	var content []byte
	p := make([]byte, size)
	for {
		n, err := r.ReadFrom(p, int64(len(content)))
		content = append(content, p[:n]...)
		if err == io.EOF {
			return content, nil
		}
		if err != nil {
			return content, err
		}
	}
}

func newReader(t *testing.T, ctx context.Context, options Options, status *pb.FileStatus) *Reader {
	r, err := NewReader(ctx, options, "/file", status)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func write(w *Writer, content []byte) error {
	for len(content) > 0 {
		n, err := w.Write(content[:min(len(content), 3000)])
		if err != nil {
			return err
		}
		content = content[n:]
	}
	return w.Close()
}

func TestWriteThenRead(t *testing.T) {
	for _, size := range []int{0, 1, 511, blockSize, blockSize + 1, 5*blockSize + 77} {
		n := newNameNode(newDatanode(t))
		content := text(size)
		w, err := Create(t.Context(), n.options(t), "/file", Settings{Mode: 0o644})
		require.NoError(t, err)
		require.NoError(t, write(w, content))
		for _, piece := range []int{100, 600, 1 << 20} {
			got, err := readAll(newReader(t, t.Context(), n.options(t), n.status(size)), piece)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content, got), "size %d in pieces of %d", size, piece)
		}
		require.Zero(t, n.count("getFileInfo"), "what is known is not asked for")
	}
}

func TestReadFromAnyOffset(t *testing.T) {
	n := newNameNode(newDatanode(t))
	content := text(3 * blockSize)
	r := newReader(t, t.Context(), n.options(t), n.store(content))
	p := make([]byte, 10)
	for _, offset := range []int64{40_000, 0, 5, 20_000, int64(len(content) - 10)} {
		got, err := r.ReadFrom(p, offset)
		require.NoError(t, err)
		require.Equal(t, content[offset:offset+int64(got)], p[:got])
	}
	_, err := r.ReadFrom(p, int64(len(content)))
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 1, n.count("getBlockLocations"))
}

func TestReadContinuesAtAnotherDatanode(t *testing.T) {
	for name, breaks := range map[string]func(*fakeDatanode){
		"dead":              func(d *fakeDatanode) { _ = d.listener.Close() },
		"silent":            func(d *fakeDatanode) { d.set(func(d *fakeDatanode) { d.hang = true }) },
		"cut before it":     func(d *fakeDatanode) { d.set(func(d *fakeDatanode) { d.cutAfter = 0 }) },
		"cut in the middle": func(d *fakeDatanode) { d.set(func(d *fakeDatanode) { d.cutAfter = 2 * packetSize }) },
	} {
		t.Run(name, func(t *testing.T) {
			first, second := newDatanode(t), newDatanode(t)
			n := newNameNode(first, second)
			content := text(4 * blockSize)
			status := n.store(content)
			breaks(first)
			options := n.options(t)
			options.SocketTimeout = 50 * time.Millisecond
			got, err := readAll(newReader(t, t.Context(), options, status), 1000)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content, got))
		})
	}
}

func TestReadGivesUpWhenNoDatanodeServes(t *testing.T) {
	for name, breaks := range map[string]func(*fakeDatanode){
		"dead": func(d *fakeDatanode) { _ = d.listener.Close() },
		"cut":  func(d *fakeDatanode) { d.set(func(d *fakeDatanode) { d.cutAfter = 0 }) },
	} {
		t.Run(name, func(t *testing.T) {
			only := newDatanode(t)
			n := newNameNode(only)
			status := n.store(text(100))
			breaks(only)
			_, err := readAll(newReader(t, t.Context(), n.options(t), status), 1000)
			require.ErrorContains(t, err, "no datanode could be read in 4 attempts")
			require.Equal(t, readAttempts, n.count("getBlockLocations"), "the datanodes are asked for anew each time")
			require.LessOrEqual(t, only.connections(), readAttempts)
		})
	}
}

func TestReadReturnsTheNameNodesError(t *testing.T) {
	n := newNameNode(newDatanode(t))
	status := n.store(text(100))
	gone := &ipc.RemoteError{Class: "java.io.FileNotFoundException", Message: "File does not exist: /file"}
	n.fails["getBlockLocations"] = gone
	_, err := readAll(newReader(t, t.Context(), n.options(t), status), 1000)
	require.ErrorIs(t, err, gone)
	require.Equal(t, 1, n.count("getBlockLocations"), "an answer is not asked for again")
}

func TestEndedContextStopsARead(t *testing.T) {
	silent := newDatanode(t)
	n := newNameNode(silent)
	status := n.store(text(100))
	silent.set(func(d *fakeDatanode) { d.hang = true })
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	reading := make(chan error)
	r := newReader(t, ctx, n.options(t), status)
	go func() {
		_, err := readAll(r, 1000)
		reading <- err
	}()
	require.Eventually(t, func() bool { return silent.connections() == 1 }, timeout, time.Millisecond)
	cancel(stopped)
	require.ErrorIs(t, <-reading, stopped)
}

func TestFlushSetsTheLengthOfTheLastBlock(t *testing.T) {
	n := newNameNode(newDatanode(t))
	w, err := Create(t.Context(), n.options(t), "/file", Settings{})
	require.NoError(t, err)
	for _, size := range []int{0, 10, blockSize - 10, 1, 2 * blockSize} {
		_, err := w.Write(make([]byte, size))
		require.NoError(t, err)
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	require.Equal(t, []int64{10, blockSize, 1, 1}, n.lengths)
}

func TestWriteExcludesDeadDatanodes(t *testing.T) {
	dead, alive := newDatanode(t), newDatanode(t)
	_ = dead.listener.Close()
	n := newNameNode(dead, alive)
	content := text(3 * blockSize)
	w, err := Create(t.Context(), n.options(t), "/file", Settings{})
	require.NoError(t, err)
	require.NoError(t, write(w, content))
	got, err := readAll(newReader(t, t.Context(), n.options(t), n.status(len(content))), 1000)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got))
	require.Equal(t, 1, n.count("abandonBlock"), "a dead datanode is met once a file")
}

func TestWriteFailsWhenNoDatanodeIsLeft(t *testing.T) {
	dead := newDatanode(t)
	_ = dead.listener.Close()
	n := newNameNode(dead)
	w, err := Create(t.Context(), n.options(t), "/file", Settings{})
	require.NoError(t, err)
	err = write(w, text(10))
	require.ErrorContains(t, err, "could only be written to 0")
	require.ErrorContains(t, err, "connection refused")
	require.NoError(t, w.Abort())
	require.Equal(t, 1, n.count("delete"))
	require.Zero(t, n.count("complete"))
}

func TestWriteNoticesADatanodeThatDies(t *testing.T) {
	dying := newDatanode(t)
	dying.set(func(d *fakeDatanode) { d.cutAfter = 1 })
	n := newNameNode(dying)
	w, err := Create(t.Context(), n.options(t), "/file", Settings{BlockSize: 1 << 40})
	require.NoError(t, err)
	p := make([]byte, 64<<10)
	for written := 0; err == nil; written += len(p) {
		require.Less(t, written, 1<<30, "it goes on writing to nowhere")
		_, err = w.Write(p)
	}
	require.ErrorContains(t, err, "a datanode failed while it was written to")
	require.Error(t, w.Close())
	require.NoError(t, w.Abort())
	require.Zero(t, n.count("complete"))
}

func TestWriteNoticesADatanodeThatHangs(t *testing.T) {
	silent := newDatanode(t)
	silent.set(func(d *fakeDatanode) { d.hang = true })
	n := newNameNode(silent)
	options := n.options(t)
	options.SocketTimeout = 20 * time.Millisecond
	w, err := Create(t.Context(), options, "/file", Settings{})
	require.NoError(t, err)
	err = write(w, text(10))
	require.ErrorContains(t, err, "i/o timeout")
	require.NoError(t, w.Abort())
}

func TestEndedContextStopsAWrite(t *testing.T) {
	silent := newDatanode(t)
	silent.set(func(d *fakeDatanode) { d.hang = true })
	n := newNameNode(silent)
	ctx, cancel := context.WithCancel(t.Context())
	w, err := Create(ctx, n.options(t), "/file", Settings{})
	require.NoError(t, err)
	writing := make(chan error)
	go func() { writing <- write(w, text(10)) }()
	require.Eventually(t, func() bool { return silent.connections() == 1 }, timeout, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-writing, context.Canceled)
	require.NoError(t, w.Abort())
	require.Equal(t, 1, n.count("delete"), "the file is removed though the context has ended")
}

func TestCloseWaitsForTheLastBlock(t *testing.T) {
	n := newNameNode(newDatanode(t))
	n.pending = 3
	w, err := Create(t.Context(), n.options(t), "/file", Settings{})
	require.NoError(t, err)
	require.NoError(t, write(w, text(10)))
	require.Equal(t, 4, n.count("complete"))
	for _, again := range n.completions {
		require.Equal(t, n.completions[0], again, "each call names the last block")
	}

	n.pending = 1 << 30
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, err = Create(ctx, n.options(t), "/file", Settings{})
	require.NoError(t, err)
	writing := make(chan error)
	go func() { writing <- write(w, text(10)) }()
	require.Eventually(t, func() bool { return n.count("complete") > 5 }, timeout, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-writing, context.Canceled)
	require.NoError(t, w.Abort())
}

func TestCreateReturnsTheNameNodesError(t *testing.T) {
	n := newNameNode(newDatanode(t))
	denied := &ipc.RemoteError{Class: ipc.AccessControlException, Message: "Permission denied: user=ann"}
	n.fails["create"] = denied
	_, err := Create(t.Context(), n.options(t), "/file", Settings{})
	require.ErrorIs(t, err, denied)
}

func TestAbortOfAHalfWrittenBlock(t *testing.T) {
	n := newNameNode(newDatanode(t))
	w, err := Create(t.Context(), n.options(t), "/file", Settings{BlockSize: 1 << 20})
	require.NoError(t, err)
	_, err = w.Write(text(200_000))
	require.NoError(t, err)
	require.NoError(t, w.Abort())
	require.Zero(t, n.count("complete"))
	require.Equal(t, 1, n.count("delete"))
}

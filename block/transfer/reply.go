package transfer

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bobbin-yarn/bobbin/block"
)

// errSkipped is the error of reading a block after its fetch has yielded the next one.
var errSkipped = errors.New("the fetch has gone on to the next block")

// reply reads the peer's reply to one request. The connection is closed if ctx ends.
type reply struct {
	ctx        context.Context
	address    string
	connection *tls.Conn
	input      *bufio.Reader
	detach     func() bool // once detach was called, the end of ctx does not close the connection
	pending    int         // number of blocks that next has yet to return
	current    *Block
	err        error // error of the connection; if not nil, nothing more can be read
}

func newReply(ctx context.Context, address string, connection *tls.Conn, blocks int) *reply {
	input := readers.Get().(*bufio.Reader)
	input.Reset(connection)
	detach := context.AfterFunc(ctx, func() { _ = connection.NetConn().Close() })
	return &reply{ctx: ctx, address: address, connection: connection, input: input, detach: detach, pending: blocks}
}

// close detaches r from the connection. If r has read the whole reply, the connection can be
// reused, and close returns true. Otherwise close closes the connection. It does not send
// TLS's close_notify first, because that could block if the peer is not reading.
func (r *reply) close() bool {
	complete := r.detach() && r.err == nil && r.pending == 0 && (r.current == nil || r.current.left == 0)
	if r.current != nil {
		r.current.chunk, r.current.err = nil, errSkipped
	}
	r.input.Reset(nil)
	readers.Put(r.input)
	if !complete {
		_ = r.connection.NetConn().Close()
	}
	return complete
}

// next returns the next block of the reply, which must have the given id, or the error that
// the peer sent for it. The caller must have read or skipped the previous block.
func (r *reply) next(id block.ID) (*Block, error) {
	if r.err != nil {
		return nil, r.fail(id, r.err)
	}
	r.pending--
	if err := r.status(id); err != nil {
		return nil, err
	}
	size, err := readNumber(r.input, math.MaxInt64)
	if err != nil {
		return nil, r.fail(id, err)
	}
	r.current = &Block{ID: id, Size: int64(size), reply: r, left: int64(size)}
	return r.current, nil
}

// status reads a status byte and returns the error that the byte means, or nil for
// statusFound.
func (r *reply) status(id block.ID) error {
	status, err := r.input.ReadByte()
	if err != nil {
		return r.fail(id, err)
	}
	switch status {
	case statusFound:
		return nil
	case statusMissing:
		return &Error{r.address, id, block.ErrNotFound}
	case statusDamaged:
		text, err := readText(r.input)
		if err != nil {
			return r.fail(id, err)
		}
		return &Error{r.address, id, fmt.Errorf("%w there: %s", block.ErrDamaged, text)}
	}
	return r.fail(id, fmt.Errorf("the reply has the unknown status %d", status))
}

// fail records err as the error of the connection, and returns the error to report for the
// block with the id.
func (r *reply) fail(id block.ID, err error) error {
	r.err = err
	return connectionError(r.ctx, r.address, id, err)
}

// connectionError returns an *Error that wraps ErrUnreachable and err. If ctx has ended, it
// returns ctx's cause instead.
func connectionError(ctx context.Context, address string, id block.ID, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &Error{address, id, fmt.Errorf("%w: %w", ErrUnreachable, err)}
}

// Block is a block that is being received from a peer.
type Block struct {
	ID   block.ID
	Size int64

	reply *reply
	left  int64  // bytes not yet received
	chunk []byte // bytes received and verified but not yet read, in the connection's buffer
	err   error
}

// Read reads the block's bytes. It verifies a chunk's checksum before it returns bytes of the
// chunk. It fails with an *Error or, if the fetch's context has ended, with the context's
// cause.
func (b *Block) Read(p []byte) (int, error) {
	if len(b.chunk) == 0 && b.err == nil {
		if b.chunk, b.err = b.nextChunk(); b.err != nil {
			b.chunk = nil
		}
	}
	if b.err != nil {
		return 0, b.err
	}
	n := copy(p, b.chunk)
	b.chunk = b.chunk[n:]
	return n, nil
}

// nextChunk reads the next chunk and verifies its checksum. The returned bytes are valid until
// the next read from the connection.
func (b *Block) nextChunk() ([]byte, error) {
	if b.left == 0 {
		return nil, io.EOF
	}
	r := b.reply
	if err := r.status(b.ID); err != nil {
		b.left = 0
		return nil, err
	}
	length := int(min(b.left, block.ChunkSize))
	frame, err := r.input.Peek(4 + length)
	if err != nil {
		b.left = 0
		return nil, r.fail(b.ID, err)
	}
	_, _ = r.input.Discard(len(frame)) // cannot fail after Peek
	b.left -= int64(length)
	chunk := frame[4:]
	if block.Checksum(chunk) != binary.BigEndian.Uint32(frame) {
		return nil, &Error{r.address, b.ID, fmt.Errorf("%w: other bytes arrived than were put there", block.ErrDamaged)}
	}
	return chunk, nil
}

// skip reads and discards the remaining bytes of the block.
func (b *Block) skip() {
	for b.left > 0 {
		_, _ = b.nextChunk() // if this fails because of the connection, reading the next block fails too
	}
	b.chunk, b.err = nil, errSkipped
}

package transfer

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/block"
)

// The status bytes in a reply: one for each block and one for each chunk.
const (
	statusFound   = 0
	statusMissing = 1
	statusDamaged = 2
)

const (
	maxIDs      = 1 << 10 // largest number of ids in a request
	maxText     = 1 << 16 // largest size in bytes of an id or of an error's text
	chunkHeader = 5       // bytes before a chunk: its status and checksum
	bufferBytes = chunkHeader + block.ChunkSize
)

// Pools of buffers. A client's connection uses a buffered reader, and a server's connection a
// buffered writer, only while a request is in progress.
var (
	readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, bufferBytes) }}
	writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, bufferBytes) }}
)

// timedConn is a connection on which each Read and Write fails after the timeout.
type timedConn struct {
	net.Conn
	timeout time.Duration
}

func (c timedConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c timedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func appendText(encoded []byte, text string) []byte {
	return append(binary.AppendUvarint(encoded, uint64(len(text))), text...)
}

func readText(r *bufio.Reader) (string, error) {
	n, err := readNumber(r, maxText)
	if err != nil {
		return "", err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r, text)
	return string(text), err
}

func appendRequest(encoded []byte, ids []block.ID) []byte {
	encoded = binary.AppendUvarint(encoded, uint64(len(ids)))
	for _, id := range ids {
		encoded = appendText(encoded, string(id))
	}
	return encoded
}

func readRequest(r *bufio.Reader) ([]block.ID, error) {
	n, err := readNumber(r, maxIDs)
	if err != nil {
		return nil, err
	}
	ids := make([]block.ID, n)
	for i := range ids {
		id, err := readText(r)
		if err != nil {
			return nil, err
		}
		ids[i] = block.ID(id)
	}
	return ids, nil
}

func readNumber(r *bufio.Reader, limit uint64) (uint64, error) {
	n, err := binary.ReadUvarint(r)
	if err == nil && n > limit {
		err = fmt.Errorf("not of the data port's protocol: the length %d exceeds %d", n, limit)
	}
	return n, err
}

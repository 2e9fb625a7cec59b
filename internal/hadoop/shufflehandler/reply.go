package shufflehandler

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/writable"
)

// maxMapID is the largest size in bytes of a map output's id in a reply (ShuffleHeader).
const maxMapID = 1000

// ErrMalformed means that a reply does not follow the protocol.
var ErrMalformed = errors.New("the reply is malformed")

// sectionHeader is the header of a map output's partition in a reply.
type sectionHeader struct {
	mapID     string
	length    int64 // bytes of the partition, which follows the header
	partition int64
}

// encode returns the header in the form that readHeader reads. It encodes length twice, as the
// length before and after compression.
func (h sectionHeader) encode() []byte {
	b := append(writable.AppendVInt(nil, int64(len(h.mapID))), h.mapID...)
	for _, number := range []int64{h.length, h.length, h.partition} {
		b = writable.AppendVInt(b, number)
	}
	return b
}

// readHeader reads a header: the map output's id as a Text, and three Writable vlongs, which
// are the partition's length as it is sent, its length before compression, and its number.
func readHeader(r *bufio.Reader) (h sectionHeader, err error) {
	n, err := readVLong(r)
	if err != nil {
		return h, err
	}
	if n < 0 || n > maxMapID {
		return h, fmt.Errorf("%w: the id of a map output has %d bytes", ErrMalformed, n)
	}
	id := make([]byte, n)
	if _, err := io.ReadFull(r, id); err != nil {
		return h, noEOF(err)
	}
	h.mapID = string(id)
	var raw int64
	for _, number := range []*int64{&h.length, &raw, &h.partition} {
		if *number, err = readVLong(r); err != nil {
			return h, err
		}
	}
	if h.length < 0 {
		return h, fmt.Errorf("%w: partition %d of %s has %d bytes", ErrMalformed, h.partition, h.mapID, h.length)
	}
	return h, nil
}

// readVLong reads a Writable vlong.
func readVLong(r io.ByteReader) (int64, error) {
	n, err := writable.ReadVInt(r)
	if errors.Is(err, writable.ErrRange) {
		err = fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return n, noEOF(err)
}

// noEOF returns io.ErrUnexpectedEOF for io.EOF, and any other error unchanged.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

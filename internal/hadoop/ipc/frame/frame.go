// Package frame encodes and decodes what Hadoop's IPC puts on a connection: an
// opening, then frames, each a length and a row of delimited protobuf messages
// of which the first is a header.
package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/pb"
)

// Version is the version of the protocol.
const Version = 9

// AuthProtocol is how a connection begins, told in its opening (Server.AuthProtocol).
type AuthProtocol byte

const (
	// AuthNone goes on with the connection's context at once.
	AuthNone AuthProtocol = 0
	// AuthSASL goes on with a SASL exchange.
	AuthSASL AuthProtocol = 0xdf
)

// Call ids that are no calls (RpcConstants, Server.AuthProtocol).
const (
	ContextCallID int32 = -3
	PingCallID    int32 = -4
	SASLCallID    int32 = -33
)

// NoRetryCount stands where a retry count means nothing.
const NoRetryCount int32 = -1

// magic begins every connection.
const magic = "hrpc"

// OpeningSize is the length of an opening.
const OpeningSize = len(magic) + 3

// directSize is up to where a frame is read into a buffer of the length it
// claims; a longer one gets its buffer as its bytes arrive.
const directSize = 64 << 10

// Opening returns the first bytes of a connection: magic, version, service
// class 0 and the way of authentication.
func Opening(auth AuthProtocol) []byte {
	return append([]byte(magic), Version, 0, byte(auth))
}

// ParseOpening reads an opening.
func ParseOpening(b []byte) (AuthProtocol, error) {
	if len(b) != OpeningSize || string(b[:len(magic)]) != magic {
		return 0, fmt.Errorf("the connection does not begin with %q", magic)
	}
	if b[len(magic)] != Version {
		return 0, fmt.Errorf("the connection speaks version %d of the protocol, not %d", b[len(magic)], Version)
	}
	auth := AuthProtocol(b[OpeningSize-1])
	if auth != AuthNone && auth != AuthSASL {
		return 0, fmt.Errorf("the connection begins with unknown authentication %#x", byte(auth))
	}
	return auth, nil
}

// ErrTooLong means that a frame is longer than the reader's limit.
var ErrTooLong = errors.New("the frame is too long")

// Read reads one frame of at most limit bytes and returns it without its
// length. io.EOF means that the connection ended between frames.
func Read(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if string(head[:]) == "HTTP" {
		return nil, fmt.Errorf("%w: the peer speaks HTTP, not Hadoop's RPC: use the server's RPC port", ErrTooLong)
	}
	if int64(length) > int64(limit) {
		return nil, fmt.Errorf("%w: it claims %d bytes where %d are allowed (ipc.maximum.response.length)", ErrTooLong, length, limit)
	}
	if length <= directSize {
		body := make([]byte, length)
		_, err := io.ReadFull(r, body)
		return body, unexpected(err)
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(length)); err != nil {
		return nil, unexpected(err)
	}
	return body.Bytes(), nil
}

// unexpected tells an end inside a frame from one between frames.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Append appends a frame of delimited messages.
func Append(b []byte, messages ...proto.Message) ([]byte, error) {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	for _, message := range messages {
		var err error
		b = protowire.AppendVarint(b, uint64(proto.Size(message)))
		if b, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(b, message); err != nil {
			return nil, err
		}
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b, nil
}

// Next decodes the delimited message at the front of a frame and returns what
// follows it.
func Next(body []byte, message proto.Message) (rest []byte, err error) {
	name := message.ProtoReflect().Descriptor().Name()
	raw, n := protowire.ConsumeBytes(body)
	if n < 0 {
		return nil, fmt.Errorf("the frame ends inside a %s", name)
	}
	if err := proto.Unmarshal(raw, message); err != nil {
		return nil, fmt.Errorf("malformed %s: %w", name, err)
	}
	return body[n:], nil
}

// RequestHeader returns the header of a client's message; retry is how often
// it was sent before, or NoRetryCount.
func RequestHeader(callID int32, clientID []byte, retry int32) *pb.RequestHeader {
	if clientID == nil {
		clientID = []byte{}
	}
	return &pb.RequestHeader{
		RpcKind:    pb.RpcKind_RPC_KIND_PROTOCOL_BUFFER.Enum(),
		Operation:  pb.RequestHeader_FINAL_PACKET.Enum(),
		CallId:     &callID,
		ClientId:   clientID,
		RetryCount: &retry,
	}
}

// ResponseCallID returns a response's call id, which is negative for what is
// no call and travels unsigned.
func ResponseCallID(header *pb.ResponseHeader) int32 { return int32(header.GetCallId()) }

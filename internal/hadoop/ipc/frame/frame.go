// Package frame encodes and decodes the messages of Hadoop's RPC protocol. A connection begins
// with an opening, which frames follow. A frame consists of a length and of length-delimited
// protobuf messages. The first message is a header.
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

// Version is the version of the RPC protocol.
const Version = 9

// AuthProtocol is the part of the opening that states what follows the opening
// (Server.AuthProtocol).
type AuthProtocol byte

const (
	AuthNone AuthProtocol = 0    // the connection context follows, without authentication
	AuthSASL AuthProtocol = 0xdf // a SASL exchange follows
)

// Call ids of messages that are not calls (RpcConstants, Server.AuthProtocol).
const (
	ContextCallID int32 = -3
	PingCallID    int32 = -4
	SASLCallID    int32 = -33
)

// NoRetryCount is the retry count of messages that are not calls.
const NoRetryCount int32 = -1

// magic begins every connection.
const magic = "hrpc"

// OpeningSize is the size of an opening in bytes.
const OpeningSize = len(magic) + 3

// directSize is the largest frame in bytes for which Read allocates the whole buffer at once.
// For a larger frame, the buffer grows as bytes arrive, so that a wrong length does not cause a
// large allocation.
const directSize = 64 << 10

// Opening returns the first bytes of a connection: the magic number, the version, service class
// 0 and the authentication protocol.
func Opening(auth AuthProtocol) []byte {
	return append([]byte(magic), Version, 0, byte(auth))
}

// ParseOpening decodes an opening. It fails if b is not an opening of this version.
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

// ErrTooLong means that a frame is longer than Read's limit.
var ErrTooLong = errors.New("the frame is too long")

// Read reads a frame and returns it without its length. It fails with ErrTooLong if the
// frame has more than limit bytes, and with io.EOF if the connection has ended before the
// frame.
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

// unexpected replaces io.EOF by io.ErrUnexpectedEOF, because the input ended inside a
// frame.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Append appends to b one frame that contains the messages.
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

// Next decodes the length-delimited message at the start of body into message, and returns the
// rest of body.
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

// RequestHeader returns the header of a client's message. retry is the number of earlier
// attempts to send the message; NoRetryCount if the message is not a call.
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

// ResponseCallID returns a response's call id as a signed number. The field of the header
// is unsigned, but some ids are negative.
func ResponseCallID(header *pb.ResponseHeader) int32 { return int32(header.GetCallId()) }

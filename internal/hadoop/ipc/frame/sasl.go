package frame

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/pb"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
)

// Side is the side that sends a message. Messages of the two sides have different headers.
type Side int

const (
	Client Side = iota // sends messages with request headers
	Server             // sends messages with response headers
)

// AppendSASL appends to b a frame that contains a SASL message from side s.
func (s Side) AppendSASL(b []byte, message *pb.SaslMessage) ([]byte, error) {
	if s == Client {
		return Append(b, RequestHeader(SASLCallID, nil, NoRetryCount), message)
	}
	id := SASLCallID
	return Append(b, &pb.ResponseHeader{
		CallId:           proto.Uint32(uint32(id)),
		Status:           pb.ResponseHeader_SUCCESS.Enum(),
		ServerIpcVersion: proto.Uint32(Version),
		ClientId:         []byte{},
	}, message)
}

// sealed returns the SASL token in a frame from side s. The token contains the protected bytes.
// body is the frame without its length.
func (s Side) sealed(body []byte) ([]byte, error) {
	var callID int32
	var rest []byte
	var err error
	if s == Client {
		header := &pb.RequestHeader{}
		rest, err = Next(body, header)
		callID = header.GetCallId()
	} else {
		header := &pb.ResponseHeader{}
		rest, err = Next(body, header)
		callID = ResponseCallID(header)
	}
	if err != nil {
		return nil, err
	}
	message := &pb.SaslMessage{}
	if callID != SASLCallID {
		return nil, errors.New("an unprotected message came where protection was agreed on")
	}
	if _, err := Next(rest, message); err != nil {
		return nil, err
	}
	if message.GetState() != pb.SaslMessage_WRAP {
		return nil, fmt.Errorf("a SASL message %v came where protection was agreed on", message.GetState())
	}
	return message.GetToken(), nil
}

// AppendSealed protects plain, the bytes of one or more frames, with a SASL layer, in
// pieces of at most layer.MaxPiece bytes. It appends a frame for each piece to b.
func (s Side) AppendSealed(b []byte, layer sasl.Layer, plain []byte) ([]byte, error) {
	for len(plain) > 0 {
		piece := plain[:min(len(plain), layer.MaxPiece())]
		plain = plain[len(piece):]
		token, err := layer.Wrap(piece)
		if err != nil {
			return nil, err
		}
		if b, err = s.AppendSASL(b, &pb.SaslMessage{State: pb.SaslMessage_WRAP.Enum(), Token: token}); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// UnsealReader reads frames that a SASL layer protects, and returns their unprotected content.
// The content consists of frames, too.
type UnsealReader struct {
	peer  Side
	r     io.Reader
	layer sasl.Layer
	limit int
	plain []byte
}

// NewUnsealReader returns a reader of the protected frames that peer sends on r. Each frame may
// have at most limit bytes.
func NewUnsealReader(peer Side, r io.Reader, layer sasl.Layer, limit int) *UnsealReader {
	return &UnsealReader{peer: peer, r: r, layer: layer, limit: limit}
}

// Read returns unprotected bytes. A protected frame may contain several frames or a part of one
// frame.
func (u *UnsealReader) Read(p []byte) (int, error) {
	for len(u.plain) == 0 {
		body, err := Read(u.r, u.limit)
		if err != nil {
			return 0, err
		}
		token, err := u.peer.sealed(body)
		if err != nil {
			return 0, err
		}
		if u.plain, err = u.layer.Unwrap(token); err != nil {
			return 0, err
		}
	}
	n := copy(p, u.plain)
	u.plain = u.plain[n:]
	return n, nil
}

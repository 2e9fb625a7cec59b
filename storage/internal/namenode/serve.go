package namenode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	ipcpb "github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/pb"
)

const (
	// preambleLength is the number of bytes that a client sends first: "hrpc", the version, the
	// service class and the authentication protocol.
	preambleLength = 7
	// contextCallID is the call ID of the message that contains the connection's user. Serve
	// ignores this message.
	contextCallID = -3
	// maxRequest is the largest size of a client's message in bytes (ipc.maximum.data.length).
	maxRequest = 64 << 20
)

// Handler handles one call. request and response are encoded protobuf messages.
type Handler func(method string, request []byte) (response []byte, err error)

// Serve acts as the NameNode on a connection of the library colinmarc/hdfs: it reads calls, one
// at a time, calls handle for each, and sends the result. It returns nil when the library has
// closed the connection.
//
// Serve exists because the library's own connections to NameNodes have no deadlines or contexts,
// fail for 5 s after the server has closed an idle connection, and block all files of a client
// during a call. With Serve, the library's calls are sent by package ipc instead.
func Serve(conn io.ReadWriter, handle Handler) error {
	if _, err := io.CopyN(io.Discard, conn, preambleLength); err != nil {
		return nilIfClosed(err)
	}
	for {
		frame, err := readFrame(conn)
		if err != nil {
			return nilIfClosed(err)
		}
		header := &ipcpb.RequestHeader{}
		body, err := cutMessage(frame, header)
		if err != nil {
			return fmt.Errorf("header of a call: %w", err)
		}
		if header.GetCallId() == contextCallID {
			continue
		}
		method := &ipcpb.CallHeader{}
		if body, err = cutMessage(body, method); err != nil {
			return fmt.Errorf("method of a call: %w", err)
		}
		request, n := protowire.ConsumeBytes(body)
		if n < 0 {
			return fmt.Errorf("request of %s: %w", method.GetMethodName(), protowire.ParseError(n))
		}
		response, callErr := handle(method.GetMethodName(), request)
		if err := writeResponse(conn, header, response, callErr); err != nil {
			return nilIfClosed(err)
		}
	}
}

// nilIfClosed returns nil if err means that the client has closed the connection, else err.
func nilIfClosed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func readFrame(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxRequest {
		return nil, fmt.Errorf("a call of %d bytes, more than %d", n, maxRequest)
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// cutMessage decodes the length-delimited message at the start of b, and returns the bytes after
// the message.
func cutMessage(b []byte, message proto.Message) (rest []byte, err error) {
	encoded, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return nil, protowire.ParseError(n)
	}
	return b[n:], proto.Unmarshal(encoded, message)
}

func writeResponse(w io.Writer, call *ipcpb.RequestHeader, response []byte, callErr error) error {
	header := &ipcpb.ResponseHeader{
		CallId:   proto.Uint32(uint32(call.GetCallId())),
		Status:   ipcpb.ResponseHeader_SUCCESS.Enum(),
		ClientId: call.ClientId,
	}
	if callErr != nil {
		header.Status = ipcpb.ResponseHeader_ERROR.Enum()
		header.ErrorCode = ipcpb.ResponseHeader_ERROR_APPLICATION.Enum()
		header.ErrorMessage = proto.String(callErr.Error())
		if remote, ok := errors.AsType[*ipc.RemoteError](callErr); ok {
			header.ExceptionClass = proto.String(string(remote.Class))
		}
	}
	encoded, err := proto.Marshal(header)
	if err != nil {
		return err
	}
	frame := protowire.AppendBytes(make([]byte, 4), encoded)
	if callErr == nil {
		frame = protowire.AppendBytes(frame, response)
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	_, err = w.Write(frame)
	return err
}

package frame

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/pb"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
)

func TestOpening(t *testing.T) {
	require.Equal(t, "hrpc\x09\x00\x00", string(Opening(AuthNone)))
	require.Equal(t, "hrpc\x09\x00\xdf", string(Opening(AuthSASL)))
	for _, auth := range []AuthProtocol{AuthNone, AuthSASL} {
		got, err := ParseOpening(Opening(auth))
		require.NoError(t, err)
		require.Equal(t, auth, got)
	}
	for opening, want := range map[string]string{
		"hrpc\x09\x00":     "does not begin",
		"GET / H":          "does not begin",
		"hrpc\x08\x00\x00": "version 8",
		"hrpc\x09\x00\x01": "unknown authentication",
	} {
		_, err := ParseOpening([]byte(opening))
		require.ErrorContains(t, err, want)
	}
}

// TestHeadersMatchHadoop compares headers with those of Hadoop's classes.
func TestHeadersMatchHadoop(t *testing.T) {
	// Client.java begins SASL with this frame: the header, then the state NEGOTIATE.
	b, err := Client.AppendSASL(nil, &pb.SaslMessage{State: pb.SaslMessage_NEGOTIATE.Enum()})
	require.NoError(t, err)
	require.Equal(t, "0000000e"+"0a"+"0802"+"1000"+"1841"+"2200"+"2801"+"02"+"1001", hex.EncodeToString(b))

	// Server.java replies with the call id -33 as an unsigned number.
	header := &pb.ResponseHeader{}
	rest, err := Next(unhex(t, "0a08dfffffff0f1000180900"), header)
	require.NoError(t, err)
	require.Equal(t, SASLCallID, ResponseCallID(header))
	require.Equal(t, []byte{0}, rest)
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func TestReadInAnyPortions(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 3*directSize)
	first, err := Append(nil, RequestHeader(7, []byte("client"), 0), &pb.SaslMessage{State: pb.SaslMessage_WRAP.Enum(), Token: long})
	require.NoError(t, err)
	both, err := Append(first, RequestHeader(8, nil, 1))
	require.NoError(t, err)
	for name, r := range map[string]io.Reader{
		"whole":    bytes.NewReader(both),
		"halves":   iotest.HalfReader(bytes.NewReader(both)),
		"one byte": iotest.OneByteReader(bytes.NewReader(both)),
		"data+EOF": iotest.DataErrReader(bytes.NewReader(both)),
	} {
		t.Run(name, func(t *testing.T) {
			body, err := Read(r, len(both))
			require.NoError(t, err)
			header, message := &pb.RequestHeader{}, &pb.SaslMessage{}
			rest, err := Next(body, header)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(RequestHeader(7, []byte("client"), 0), header, protocmp.Transform()))
			rest, err = Next(rest, message)
			require.NoError(t, err)
			require.Empty(t, rest)
			require.True(t, bytes.Equal(long, message.GetToken()))
			body, err = Read(r, len(both))
			require.NoError(t, err)
			_, err = Next(body, header)
			require.NoError(t, err)
			require.EqualValues(t, 8, header.GetCallId())
			_, err = Read(r, len(both))
			require.Equal(t, io.EOF, err, "the end between frames")
		})
	}
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want error
	}{
		"nothing":         {"", io.EOF},
		"cut length":      {"\x00\x00", io.ErrUnexpectedEOF},
		"no body":         {"\x00\x00\x00\x05", io.ErrUnexpectedEOF},
		"cut body":        {"\x00\x00\x00\x05abc", io.ErrUnexpectedEOF},
		"cut long body":   {"\x00\x02\x00\x00abc", io.ErrUnexpectedEOF},
		"too long":        {"\x10\x00\x00\x00", ErrTooLong},
		"negative length": {"\xff\xff\xff\xff", ErrTooLong},
		"HTTP":            {"HTTP/1.1 200 OK", ErrTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(bytes.NewReader([]byte(c.data)), 1<<20)
			require.ErrorIs(t, err, c.want)
		})
	}
}

// reversed is a security layer that reverses the bytes of each piece. Pieces have at most
// 10 bytes.
type reversed struct{}

func (reversed) MaxPiece() int                     { return 10 }
func (reversed) QOP() sasl.QOP                     { return sasl.AuthConf }
func (reversed) Wrap(piece []byte) ([]byte, error) { return reverse(piece), nil }
func (reversed) Unwrap(b []byte) ([]byte, error) {
	if bytes.HasPrefix(b, []byte("!")) {
		return nil, errors.New("tampered with")
	}
	return reverse(b), nil
}

func reverse(b []byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[len(b)-1-i] = b[i]
	}
	return out
}

func TestSealedStream(t *testing.T) {
	want := []byte("a message that takes several pieces, and another one")
	for _, side := range []Side{Client, Server} {
		sealed, err := side.AppendSealed(nil, reversed{}, want)
		require.NoError(t, err)
		require.NotContains(t, string(sealed), "message")
		got, err := io.ReadAll(iotest.OneByteReader(NewUnsealReader(side, bytes.NewReader(sealed), reversed{}, 1000)))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestSealedStreamRefuses(t *testing.T) {
	frames := func(messages ...proto.Message) []byte {
		b, err := Append(nil, messages...)
		require.NoError(t, err)
		return b
	}
	sasl := func(state pb.SaslMessage_State, token string) []byte {
		b, err := Server.AppendSASL(nil, &pb.SaslMessage{State: state.Enum(), Token: []byte(token)})
		require.NoError(t, err)
		return b
	}
	success := &pb.ResponseHeader{CallId: proto.Uint32(1), Status: pb.ResponseHeader_SUCCESS.Enum()}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"plain response":  {frames(success), "unprotected message"},
		"other state":     {sasl(pb.SaslMessage_SUCCESS, "x"), "SUCCESS came"},
		"tampered":        {sasl(pb.SaslMessage_WRAP, "!"), "tampered with"},
		"no header":       {[]byte{0, 0, 0, 0}, "ends inside a ResponseHeader"},
		"no message":      {sasl(pb.SaslMessage_WRAP, "x")[:4], "unexpected EOF"},
		"longer than let": {sasl(pb.SaslMessage_WRAP, string(make([]byte, 2000))), "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := io.ReadAll(NewUnsealReader(Server, bytes.NewReader(c.data), reversed{}, 1000))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 'x'})
	f.Add([]byte("HTTP/1.1"))
	f.Add([]byte{0, 2, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			body, err := Read(r, 1<<16)
			if err != nil {
				return
			}
			require.LessOrEqual(t, len(body), len(data))
		}
	})
}

func FuzzResponseHeader(f *testing.F) {
	f.Add(unhex(f, "0a08dfffffff0f1000180900"))
	f.Add([]byte{4, 0x08, 0x07, 0x10, 0x00})
	f.Fuzz(func(t *testing.T, body []byte) {
		header := &pb.ResponseHeader{}
		rest, err := Next(body, header)
		if err != nil {
			return
		}
		require.Less(t, len(rest), len(body))
		encoded, err := Append(nil, header)
		require.NoError(t, err)
		again := &pb.ResponseHeader{}
		_, err = Next(encoded[4:], again)
		require.NoError(t, err)
		require.Equal(t, ResponseCallID(header), ResponseCallID(again))
		message := &pb.SaslMessage{}
		_, _ = Next(rest, message)
	})
}

func FuzzUnseal(f *testing.F) {
	b, err := Server.AppendSealed(nil, reversed{}, []byte("some text that takes pieces"))
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		plain, _ := io.ReadAll(NewUnsealReader(Server, bytes.NewReader(data), reversed{}, 1<<16))
		require.LessOrEqual(t, len(plain), len(data))
	})
}

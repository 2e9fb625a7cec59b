package stream

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
)

// serveHandshake performs the server's side of a handshake, and then echoes the received bytes.
func serveHandshake(t *testing.T, conn net.Conn, qop sasl.QOP, withAES bool, password string) {
	server := sasl.NewDigestServer(sasl.DigestServer{Protocol: "hdfs", ServerID: "0", QOPs: []sasl.QOP{qop},
		Password: func(string) (string, error) { return password, nil }})
	reader := bufio.NewReader(conn)
	var magic [4]byte
	_, err := io.ReadFull(reader, magic[:])
	require.NoError(t, err)
	require.Equal(t, uint32(saslMagic), binary.BigEndian.Uint32(magic[:]))
	receive := func() *pb.DataTransferSasl {
		in := &pb.DataTransferSasl{}
		if protodelim.UnmarshalFrom(reader, in) != nil {
			return nil // the client has closed the connection
		}
		return in
	}
	send := func(out *pb.DataTransferSasl) {
		_, err := protodelim.MarshalTo(conn, out)
		require.NoError(t, err)
	}
	receive()
	challenge, err := server.Step(nil)
	require.NoError(t, err)
	send(&pb.DataTransferSasl{Status: pb.DataTransferSasl_SUCCESS.Enum(), Payload: challenge})
	response := receive()
	if response == nil {
		return
	}
	proof, err := server.Step(response.GetPayload())
	if err != nil {
		text := "wrong password"
		send(&pb.DataTransferSasl{Status: pb.DataTransferSasl_ERROR.Enum(), Message: &text})
		return
	}
	last := &pb.DataTransferSasl{Status: pb.DataTransferSasl_SUCCESS.Enum(), Payload: proof}
	layer := server.Layer()
	in, out := io.Reader(reader), io.Writer(conn)
	switch {
	case withAES:
		require.NotEmpty(t, response.GetCiphers())
		option := &pb.CipherOption{Suite: pb.CipherOption_AES_CTR_NOPADDING.Enum(), InIv: make([]byte, 16), OutIv: bytes.Repeat([]byte{9}, 16)}
		inKey, outKey := bytes.Repeat([]byte{1}, 16), bytes.Repeat([]byte{2}, 16)
		option.InKey, err = layer.Wrap(inKey)
		require.NoError(t, err)
		option.OutKey, err = layer.Wrap(outKey)
		require.NoError(t, err)
		last.Ciphers = []*pb.CipherOption{option}
		inBlock, err := aes.NewCipher(inKey)
		require.NoError(t, err)
		outBlock, err := aes.NewCipher(outKey)
		require.NoError(t, err)
		in = cipher.StreamReader{S: cipher.NewCTR(inBlock, option.InIv), R: reader}
		out = cipher.StreamWriter{S: cipher.NewCTR(outBlock, option.OutIv), W: conn}
	case layer != nil:
		sealed := &saslStream{conn: conn, reader: reader, layer: layer}
		in, out = sealed, sealed
	}
	send(last)
	_, _ = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, make([]byte, 7)) // until the client closes the connection
}

func TestProtectedConnections(t *testing.T) {
	for name, c := range map[string]struct {
		qop     sasl.QOP
		withAES bool
		hidden  bool
	}{
		"authentication":  {sasl.Auth, false, false},
		"integrity":       {sasl.AuthInt, false, false},
		"privacy by 3DES": {sasl.AuthConf, false, true},
		"privacy by AES":  {sasl.AuthConf, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, func(server net.Conn) { serveHandshake(t, server, c.qop, c.withAES, "geheim") })
			tapped := &recorder{Conn: conn}
			secure, err := handshake(tapped, sasl.NewDigestClient(sasl.DigestClient{
				Username: "u", Password: "geheim", Protocol: "hdfs", ServerID: "0", QOPs: []sasl.QOP{sasl.AuthConf, sasl.AuthInt, sasl.Auth},
			}))
			require.NoError(t, err)
			data := bytes.Repeat([]byte("0123456789"), 2000)
			written := make(chan error, 1)
			go func() {
				_, err := secure.Write(data)
				written <- err
			}()
			// Read in pieces of many sizes, which do not end where the messages end.
			var got []byte
			for size := 1; len(got) < len(data); size = size%113 + 1 {
				piece := make([]byte, min(size, len(data)-len(got)))
				_, err := io.ReadFull(secure, piece)
				require.NoError(t, err)
				got = append(got, piece...)
			}
			require.Equal(t, data, got)
			require.NoError(t, <-written)
			require.NoError(t, secure.Close())
			require.Equal(t, !c.hidden, bytes.Contains(tapped.sent.Bytes(), []byte("0123456789")))
		})
	}
}

func TestHandshakeFails(t *testing.T) {
	conn := connect(t, func(server net.Conn) { serveHandshake(t, server, sasl.Auth, false, "geheim") })
	_, err := handshake(conn, sasl.NewDigestClient(sasl.DigestClient{Username: "u", Password: "wrong", Protocol: "hdfs", ServerID: "0", QOPs: []sasl.QOP{sasl.Auth}}))
	require.ErrorContains(t, err, "the datanode refuses authentication: ERROR: wrong password")
	conn = connect(t, func(server net.Conn) { serveHandshake(t, server, sasl.Auth, false, "geheim") })
	_, err = handshake(conn, sasl.NewDigestClient(sasl.DigestClient{Username: "u", Password: "geheim", Protocol: "hdfs", ServerID: "0", QOPs: []sasl.QOP{sasl.AuthConf}}))
	require.ErrorContains(t, err, "quality of protection")
}

// TestDatanodeWithoutAuthenticationIsRefused connects to datanodes that interpret the first two
// bytes as an unknown version of their protocol and close the connection.
func TestDatanodeWithoutAuthenticationIsRefused(t *testing.T) {
	for name, unread := range map[string]int{"end of file": 0, "reset": 1} {
		t.Run(name, func(t *testing.T) {
			const opening = 4 + 1 + 2 + 2 // bytes of magic, length, status and an empty payload
			tapped := &recorder{Conn: connect(t, func(server net.Conn) { _, _ = io.ReadFull(server, make([]byte, opening-unread)) })}
			s := &session{options: Options{SocketTimeout: time.Minute}}
			_, err := handshake(newConn(tapped, s), sasl.NewDigestClient(sasl.DigestClient{
				Username: "u", Password: "geheim", Protocol: "hdfs", ServerID: "0", QOPs: []sasl.QOP{sasl.Auth},
			}))
			require.ErrorContains(t, err, "the datanode does not authenticate clients")
			require.Equal(t, opening, tapped.sent.Len(), "nothing follows")
		})
	}
}

// recorder is a connection that records the sent bytes.
type recorder struct {
	net.Conn
	sent bytes.Buffer
}

func (t *recorder) Write(p []byte) (int, error) {
	t.sent.Write(p)
	return t.Conn.Write(p)
}

// connect returns a connection to a server that serves one connection.
func connect(t *testing.T, serve func(net.Conn)) net.Conn {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if conn, err := listener.Accept(); err == nil {
			defer conn.Close()
			serve(conn)
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		_ = listener.Close()
		<-done
	})
	return conn
}

package stream

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
)

// This file implements the SASL exchange with datanodes, because the exchange of colinmarc/hdfs
// loses bytes of protected messages that are read in parts, and does not support 3DES.

const (
	// saslMagic is the number that starts the exchange. A connection without SASL starts with
	// the version of the transfer protocol instead.
	saslMagic = 0xDEADBEEF
	// maxProtected is the largest size of a protected message in bytes. Datanodes send up to 64
	// KiB.
	maxProtected = 16 << 20
	// firstUnprivileged is the lowest port on which processes without root privileges can
	// listen. Datanodes at lower ports are trusted.
	firstUnprivileged = 1024
)

// recordBlockToken stores the block token in s if answer contains one. answer is the response to
// a NameNode call of the given method.
func (s *session) recordBlockToken(method string, answer []byte) error {
	var block *pb.LocatedBlock
	switch method {
	case "getBlockLocations":
		response := &pb.GetBlockLocationsResponse{}
		if err := proto.Unmarshal(answer, response); err != nil {
			return err
		}
		if blocks := response.GetLocations().GetBlocks(); len(blocks) > 0 {
			block = blocks[0]
		}
	case "addBlock", "updateBlockForPipeline", "getAdditionalDatanode":
		response := &pb.AddBlockResponse{}
		if err := proto.Unmarshal(answer, response); err != nil {
			return err
		}
		block = response.GetBlock()
	}
	if token := block.GetBlockToken(); len(token.GetIdentifier()) > 0 {
		s.mu.Lock()
		s.token = token
		s.mu.Unlock()
	}
	return nil
}

// serverDefaults returns the NameNode's defaults with encryptDataTransfer set to false, because
// session.protect encrypts connections instead of colinmarc/hdfs.
func (s *session) serverDefaults() ([]byte, error) {
	encoded, err := s.options.NameNode.ServerDefaults(s.ctx)
	if err != nil {
		return nil, err
	}
	defaults := &pb.GetServerDefaultsResponse{}
	if err := proto.Unmarshal(encoded, defaults); err != nil {
		return nil, err
	}
	if !defaults.GetDefaults().GetEncryptDataTransfer() {
		return encoded, nil
	}
	defaults.Defaults.EncryptDataTransfer = proto.Bool(false)
	return proto.Marshal(defaults)
}

// encrypts reports whether the cluster's datanodes encrypt data transfers
// (dfs.encrypt.data.transfer).
func (s *session) encrypts() (bool, error) {
	encoded, err := s.options.NameNode.ServerDefaults(s.ctx)
	if err != nil {
		return false, err
	}
	defaults := &pb.GetServerDefaultsResponse{}
	err = proto.Unmarshal(encoded, defaults)
	return defaults.GetDefaults().GetEncryptDataTransfer(), err
}

// protections are SASL's qualities of protection and their names in
// dfs.data.transfer.protection, the strongest first.
var protections = []struct {
	name string
	qop  sasl.QOP
}{{"privacy", sasl.AuthConf}, {"integrity", sasl.AuthInt}, {"authentication", sasl.Auth}}

// protect authenticates a connection to a datanode. It returns the connection with integrity
// checks or encryption if the configuration or the NameNode requires them, and otherwise conn.
func (s *session) protect(conn net.Conn) (net.Conn, error) {
	var qops []sasl.QOP
	configured := strings.FieldsFunc(strings.ToLower(s.options.Hadoop["dfs.data.transfer.protection"]), func(r rune) bool { return r == ',' || r == ' ' })
	for _, p := range protections {
		if slices.Contains(configured, p.name) {
			qops = append(qops, p.qop)
		}
	}
	s.mu.Lock()
	token := s.token
	s.mu.Unlock()
	if len(configured) == 0 && token == nil {
		return conn, nil // a cluster without Kerberos
	}
	encrypt, err := s.encrypts()
	if err != nil {
		return nil, err
	}
	client := sasl.DigestClient{Protocol: "hdfs", ServerID: "0", QOPs: qops}
	switch port, ok := conn.RemoteAddr().(*net.TCPAddr); {
	case encrypt:
		key, err := s.options.NameNode.DataEncryptionKey(s.ctx)
		if err != nil {
			return nil, err
		}
		if key == nil {
			return nil, errors.New("the NameNode gave no key for encrypted data transfer")
		}
		client.Username = fmt.Sprintf("%d %s %s", int32(key.GetId()), key.GetBlockPool(), base64.StdEncoding.EncodeToString(key.GetNonce()))
		client.Password = base64.StdEncoding.EncodeToString(key.GetKey())
		client.QOPs = []sasl.QOP{sasl.AuthConf}
	case len(qops) == 0 || token == nil || ok && port.Port < firstUnprivileged:
		return conn, nil
	default:
		client.Username = base64.StdEncoding.EncodeToString(token.GetIdentifier())
		client.Password = base64.StdEncoding.EncodeToString(token.GetPassword())
	}
	return handshake(conn, sasl.NewDigestClient(client))
}

// handshake authenticates to a datanode, and returns the connection with the protection that was
// negotiated.
func handshake(conn net.Conn, mechanism sasl.Mechanism) (net.Conn, error) {
	reader := bufio.NewReader(conn)
	exchange := func(begin []byte, out *pb.DataTransferSasl) (*pb.DataTransferSasl, error) {
		encoded, err := proto.Marshal(out)
		if err != nil {
			return nil, err
		}
		message := append(binary.AppendUvarint(begin, uint64(len(encoded))), encoded...)
		if _, err := conn.Write(message); err != nil {
			return nil, err
		}
		in := &pb.DataTransferSasl{}
		if err := protodelim.UnmarshalFrom(reader, in); err != nil {
			return nil, fmt.Errorf("authentication: %w", err)
		}
		if in.GetStatus() != pb.DataTransferSasl_SUCCESS {
			return nil, fmt.Errorf("the datanode refuses authentication: %v: %s", in.GetStatus(), in.GetMessage())
		}
		return in, nil
	}
	success := pb.DataTransferSasl_SUCCESS.Enum()
	challenge, err := exchange(binary.BigEndian.AppendUint32(nil, saslMagic), &pb.DataTransferSasl{Status: success, Payload: []byte{}})
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) { // see conn.Read
		return nil, fmt.Errorf("the datanode does not authenticate clients, so it cannot be told from an impostor: refused (%w; "+
			"is dfs.data.transfer.protection set in its configuration?)", err)
	}
	if err != nil {
		return nil, err
	}
	response, err := mechanism.Step(challenge.GetPayload())
	if err != nil {
		return nil, err
	}
	// Offer AES. A datanode that does not support AES, or that does not encrypt, ignores the
	// offer.
	last, err := exchange(nil, &pb.DataTransferSasl{Status: success, Payload: response, Ciphers: []*pb.CipherOption{
		{Suite: pb.CipherOption_AES_CTR_NOPADDING.Enum()},
	}})
	if err != nil {
		return nil, err
	}
	if _, err := mechanism.Step(last.GetPayload()); err != nil {
		return nil, err
	}
	if !mechanism.Complete() {
		return nil, errors.New("the datanode did not prove that it knows the token")
	}
	layer := mechanism.Layer()
	switch {
	case layer == nil:
		return &protectedConn{Conn: conn, reader: reader, writer: conn}, nil
	case layer.QOP() == sasl.AuthConf && len(last.GetCiphers()) > 0:
		return aesConn(conn, reader, layer, last.GetCiphers()[0])
	}
	sealed := &saslStream{conn: conn, reader: reader, layer: layer}
	return &protectedConn{Conn: conn, reader: sealed, writer: sealed}, nil
}

// aesConn returns a connection encrypted by AES with keys that the datanode has chosen.
func aesConn(conn net.Conn, reader io.Reader, layer sasl.Layer, option *pb.CipherOption) (net.Conn, error) {
	stream := func(sealed, iv []byte) (cipher.Stream, error) {
		key, err := layer.Unwrap(sealed)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		if len(iv) != block.BlockSize() {
			return nil, errors.New("the datanode's initialization vector has a wrong length")
		}
		return cipher.NewCTR(block, iv), nil
	}
	out, err := stream(option.GetInKey(), option.GetInIv())
	if err != nil {
		return nil, err
	}
	in, err := stream(option.GetOutKey(), option.GetOutIv())
	if err != nil {
		return nil, err
	}
	return &protectedConn{Conn: conn, reader: cipher.StreamReader{S: in, R: reader}, writer: cipher.StreamWriter{S: out, W: conn}}, nil
}

// protectedConn is a connection that reads through reader and writes through writer, which
// decrypt and encrypt.
type protectedConn struct {
	net.Conn
	reader io.Reader
	writer io.Writer
}

func (c *protectedConn) Read(p []byte) (int, error)  { return c.reader.Read(p) }
func (c *protectedConn) Write(p []byte) (int, error) { return c.writer.Write(p) }

// saslStream sends and receives messages of a SASL layer, each preceded by its length.
type saslStream struct {
	conn   net.Conn
	reader io.Reader
	layer  sasl.Layer
	plain  []byte // received and decoded bytes that have not been read
}

func (s *saslStream) Read(p []byte) (int, error) {
	for len(s.plain) == 0 {
		var length [4]byte
		if _, err := io.ReadFull(s.reader, length[:]); err != nil {
			return 0, err
		}
		n := binary.BigEndian.Uint32(length[:])
		if n > maxProtected {
			return 0, fmt.Errorf("a protected message of %d bytes, more than %d", n, maxProtected)
		}
		sealed := make([]byte, n)
		if _, err := io.ReadFull(s.reader, sealed); err != nil {
			return 0, err
		}
		var err error
		if s.plain, err = s.layer.Unwrap(sealed); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.plain)
	s.plain = s.plain[n:]
	return n, nil
}

func (s *saslStream) Write(p []byte) (int, error) {
	for written := 0; written < len(p); {
		piece := p[written:min(len(p), written+s.layer.MaxPiece())]
		sealed, err := s.layer.Wrap(piece)
		if err != nil {
			return written, err
		}
		message := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(sealed)), uint32(len(sealed))), sealed...)
		if _, err := s.conn.Write(message); err != nil {
			return written, err
		}
		written += len(piece)
	}
	return len(p), nil
}

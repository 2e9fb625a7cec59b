package security

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/pb"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/writable"
)

// TokenFileVariable is the environment variable in which YARN passes the path of the
// credentials file to a container.
const TokenFileVariable = "HADOOP_TOKEN_FILE_LOCATION"

// maxCredentials is the largest accepted credentials file in bytes. Usual files have a few
// kilobytes.
const maxCredentials = 16 << 20

// credentialsMagic begins every credentials file (Credentials.java).
const credentialsMagic = "HDTS"

// Format is the encoding of a credentials file: the version byte in the file.
type Format byte

const (
	// Writable is version 0, Hadoop's Writable encoding, which every version of Hadoop
	// reads.
	Writable Format = 0
	Protobuf Format = 1 // version 1, a protobuf message
)

// Encode returns the content of a credentials file in the given format.
func (c *Credentials) Encode(format Format) ([]byte, error) {
	b := append([]byte(credentialsMagic), byte(format))
	switch format {
	case Writable:
		return c.appendWritable(b), nil
	case Protobuf:
		body, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.proto())
		if err != nil {
			return nil, fmt.Errorf("encode credentials: %w", err)
		}
		return append(binary.AppendUvarint(b, uint64(len(body))), body...), nil
	default:
		return nil, fmt.Errorf("credentials format %d does not exist: use 0 (Writable) or 1 (Protobuf)", format)
	}
}

// WriteTo writes the content of a credentials file in the format Writable.
func (c *Credentials) WriteTo(w io.Writer) (int64, error) {
	b, err := c.Encode(Writable)
	if err != nil {
		return 0, err
	}
	n, err := w.Write(b)
	return int64(n), err
}

func (c *Credentials) appendWritable(b []byte) []byte {
	b = writable.AppendVInt(b, int64(len(c.tokens)))
	for alias, t := range c.Tokens() {
		b = t.appendWritable(appendBytes(b, alias))
	}
	b = writable.AppendVInt(b, int64(len(c.secrets)))
	for alias, secret := range c.Secrets() {
		b = appendBytes(appendBytes(b, alias), secret)
	}
	return b
}

func (c *Credentials) proto() *pb.Credentials {
	message := &pb.Credentials{}
	for alias, t := range c.Tokens() {
		message.Tokens = append(message.Tokens, &pb.CredentialsEntry{Alias: &alias, Token: t.Proto()})
	}
	for alias, secret := range c.Secrets() {
		message.Secrets = append(message.Secrets, &pb.CredentialsEntry{Alias: &alias, Secret: nonNil(secret)})
	}
	return message
}

// ReadCredentials reads a credentials file of either format, of at most 16 MiB. Like
// Hadoop, it ignores bytes after the credentials.
func ReadCredentials(r io.Reader) (*Credentials, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxCredentials+1))
	if err != nil {
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	if len(data) > maxCredentials {
		return nil, fmt.Errorf("credentials are larger than the %d bytes allowed", maxCredentials)
	}
	if !bytes.HasPrefix(data, []byte(credentialsMagic)) {
		return nil, fmt.Errorf("not a Hadoop credentials file: it does not begin with %q", credentialsMagic)
	}
	data = data[len(credentialsMagic):]
	if len(data) == 0 {
		return nil, fmt.Errorf("read credentials: %w", writable.ErrTruncated)
	}
	format, body := Format(data[0]), data[1:]
	c := &Credentials{}
	switch format {
	case Writable:
		err = c.decodeWritable(body)
	case Protobuf:
		err = c.decodeProto(body)
	default:
		return nil, fmt.Errorf("credentials of version %d: only versions 0 and 1 are known", format)
	}
	if err != nil {
		return nil, fmt.Errorf("read credentials of version %d: %w", format, err)
	}
	return c, nil
}

func (c *Credentials) decodeWritable(body []byte) error {
	r := writableReader{body}
	// A token and its alias are five strings; a secret and its alias are two strings. Each
	// string begins with a length of at least one byte.
	n, err := r.count(5)
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	for i := range n {
		alias, err := r.text()
		if err != nil {
			return fmt.Errorf("alias of token %d: %w", i, err)
		}
		t, err := r.token()
		if err != nil {
			return fmt.Errorf("token %q: %w", alias, err)
		}
		c.SetToken(alias, t)
	}
	if n, err = r.count(2); err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	for i := range n {
		alias, err := r.text()
		if err != nil {
			return fmt.Errorf("alias of secret %d: %w", i, err)
		}
		secret, err := r.bytes()
		if err != nil {
			return fmt.Errorf("secret %q: %w", alias, err)
		}
		c.SetSecret(alias, secret)
	}
	return nil
}

func (c *Credentials) decodeProto(body []byte) error {
	length, n := binary.Uvarint(body)
	if n <= 0 {
		return writable.ErrTruncated
	}
	if length > uint64(len(body)-n) {
		return fmt.Errorf("a message of %d bytes cannot fit in the %d bytes left", length, len(body)-n)
	}
	message := &pb.Credentials{}
	if err := proto.Unmarshal(body[n:n+int(length)], message); err != nil {
		return err
	}
	for _, entry := range message.GetTokens() {
		if entry.Token == nil {
			return fmt.Errorf("token %q is missing", entry.GetAlias())
		}
		c.SetToken(entry.GetAlias(), TokenFromProto(entry.GetToken()))
	}
	for _, entry := range message.GetSecrets() {
		c.SetSecret(entry.GetAlias(), nonNil(entry.GetSecret()))
	}
	return nil
}

// ReadCredentialsFile reads the credentials file at path.
func ReadCredentialsFile(path string) (*Credentials, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open credentials file: %w", err)
	}
	defer file.Close()
	c, err := ReadCredentials(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ErrNoCredentialsFile means that HADOOP_TOKEN_FILE_LOCATION is not set.
var ErrNoCredentialsFile = errors.New(TokenFileVariable + " is not set: this process was not started by YARN")

// CredentialsFromEnvironment reads the credentials file whose path is in
// HADOOP_TOKEN_FILE_LOCATION. If the variable is not set, it fails with ErrNoCredentialsFile.
func CredentialsFromEnvironment() (*Credentials, error) {
	path := os.Getenv(TokenFileVariable)
	if path == "" {
		return nil, ErrNoCredentialsFile
	}
	c, err := ReadCredentialsFile(path)
	if err != nil {
		return nil, fmt.Errorf("credentials named by %s: %w", TokenFileVariable, err)
	}
	return c, nil
}

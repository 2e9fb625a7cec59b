package security

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/pb"
)

// Kinds of tokens that YARN and HDFS issue.
const (
	KindHDFS      = "HDFS_DELEGATION_TOKEN" // authenticates a user's processes to HDFS
	KindRM        = "RM_DELEGATION_TOKEN"   // authenticates a user's processes to the ResourceManager
	KindAMRM      = "YARN_AM_RM_TOKEN"      // authenticates an ApplicationMaster to the ResourceManager
	KindNM        = "NMToken"               // authenticates an ApplicationMaster to one NodeManager
	KindContainer = "ContainerToken"        // proves to a NodeManager that a container was allocated
)

// Token is a Hadoop token: with its Identifier and Password, a process may act as the
// user in the identifier. The zero Token means no token.
type Token struct {
	// Identifier states the user and the purpose of the token, encoded as Kind requires.
	Identifier []byte
	Password   []byte // proves possession of the token
	Kind       string // such as KindAMRM
	// Service is the server that accepts the token, often "host:port"; "" in an
	// AMRMToken.
	Service string
}

// IsZero reports whether t is the zero Token.
func (t Token) IsZero() bool {
	return len(t.Identifier) == 0 && len(t.Password) == 0 && t.Kind == "" && t.Service == ""
}

// String returns a description of the token without its password.
func (t Token) String() string {
	return fmt.Sprintf("token kind %q service %q (identifier %d bytes, password withheld)", t.Kind, t.Service, len(t.Identifier))
}

// Format writes t.String() for every verb, so that no verb prints the password.
func (t Token) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, t.String()) }

// LogValue returns only the token's kind and service, for slog.
func (t Token) LogValue() slog.Value {
	return slog.GroupValue(slog.String("kind", t.Kind), slog.String("service", t.Service))
}

// MarshalText returns t.String(), which does not contain the password. So a token in JSON is
// fit for logs only, and cannot be decoded.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Proto returns the token as a protobuf message.
func (t Token) Proto() *pb.Token {
	return &pb.Token{Identifier: nonNil(t.Identifier), Password: nonNil(t.Password), Kind: &t.Kind, Service: &t.Service}
}

// nonNil returns b, or an empty slice if b is nil, because protobuf omits a field that is nil.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// TokenFromProto returns the token in a protobuf message; the zero Token if p is nil.
func TokenFromProto(p *pb.Token) Token {
	return Token{Identifier: p.GetIdentifier(), Password: p.GetPassword(), Kind: p.GetKind(), Service: p.GetService()}
}

// EncodeURL returns the token, including its password, in the form of Hadoop's
// Token.encodeToUrlString: unpadded URL-safe base64 of its Writable encoding.
func (t Token) EncodeURL() string {
	return base64.RawURLEncoding.EncodeToString(t.appendWritable(nil))
}

// DecodeTokenURL decodes the result of EncodeURL or of Hadoop's encodeToUrlString.
func DecodeTokenURL(s string) (Token, error) {
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(s), "="))
	if err != nil {
		// Do not wrap the cause: it may quote the secret.
		return Token{}, errors.New("token string is not URL-safe base64: pass it as Hadoop's encodeToUrlString printed it")
	}
	r := writableReader{data}
	t, err := r.token()
	if err != nil {
		return Token{}, fmt.Errorf("token string: %w", err)
	}
	if len(r.rest) > 0 {
		return Token{}, fmt.Errorf("token string: %d bytes follow the token", len(r.rest))
	}
	return t, nil
}

// Encode returns the token, including its password, in its Writable encoding (Token.write).
func (t Token) Encode() []byte { return t.appendWritable(nil) }

// appendWritable appends the token's Writable encoding (Token.write) to b.
func (t Token) appendWritable(b []byte) []byte {
	b = appendBytes(b, t.Identifier)
	b = appendBytes(b, t.Password)
	b = appendBytes(b, t.Kind)
	return appendBytes(b, t.Service)
}

// token decodes a token that appendWritable encoded.
func (r *writableReader) token() (t Token, err error) {
	if t.Identifier, err = r.bytes(); err != nil {
		return Token{}, fmt.Errorf("identifier: %w", err)
	}
	if t.Password, err = r.bytes(); err != nil {
		return Token{}, fmt.Errorf("password: %w", err)
	}
	if t.Kind, err = r.text(); err != nil {
		return Token{}, fmt.Errorf("kind: %w", err)
	}
	if t.Service, err = r.text(); err != nil {
		return Token{}, fmt.Errorf("service: %w", err)
	}
	return t, nil
}

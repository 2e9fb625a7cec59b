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

// Kinds of YARN's tokens.
const (
	// KindAMRM authenticates an ApplicationMaster to the ResourceManager.
	KindAMRM = "YARN_AM_RM_TOKEN"
	// KindNM authenticates an ApplicationMaster to one NodeManager.
	KindNM = "NMToken"
	// KindContainer proves the ResourceManager's allocation of one container.
	KindContainer = "ContainerToken"
)

// Token is a Hadoop token. A caller that knows Identifier and Password acts as the
// user in the identifier. The zero Token is no token.
type Token struct {
	// Identifier has the user and the purpose, in its kind's encoding.
	Identifier []byte
	// Password is the secret that proves the identifier.
	Password []byte
	// Kind identifies the identifier's encoding and the token's purpose.
	Kind string
	// Service is the service that accepts the token, often "host:port";
	// ResourceManagers leave it empty in an AMRMToken.
	Service string
}

// IsZero reports whether t is the zero Token.
func (t Token) IsZero() bool {
	return len(t.Identifier) == 0 && len(t.Password) == 0 && t.Kind == "" && t.Service == ""
}

// String describes the token without its password.
func (t Token) String() string {
	return fmt.Sprintf("token kind %q service %q (identifier %d bytes, password withheld)", t.Kind, t.Service, len(t.Identifier))
}

// Format writes String for every verb, so that no format prints the password.
func (t Token) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, t.String()) }

// LogValue logs kind and service.
func (t Token) LogValue() slog.Value {
	return slog.GroupValue(slog.String("kind", t.Kind), slog.String("service", t.Service))
}

// MarshalText returns String: tokens reach JSON only by mistake, in logs.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Proto returns the token as a protobuf message.
func (t Token) Proto() *pb.Token {
	return &pb.Token{Identifier: nonNil(t.Identifier), Password: nonNil(t.Password), Kind: &t.Kind, Service: &t.Service}
}

// nonNil replaces nil by an empty slice: protobuf does not encode nil.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// TokenFromProto returns the token of a message; the zero Token for nil.
func TokenFromProto(p *pb.Token) Token {
	return Token{Identifier: p.GetIdentifier(), Password: p.GetPassword(), Kind: p.GetKind(), Service: p.GetService()}
}

// EncodeURL returns the token, password included, in the form of Hadoop's
// Token.encodeToUrlString: its Writable form in unpadded URL-safe base64.
func (t Token) EncodeURL() string {
	return base64.RawURLEncoding.EncodeToString(t.appendWritable(nil))
}

// DecodeTokenURL decodes the result of EncodeURL or Hadoop's encodeToUrlString.
func DecodeTokenURL(s string) (Token, error) {
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(s), "="))
	if err != nil {
		// The cause is left out: it may quote the secret.
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

// appendWritable appends the token as Token.write does.
func (t Token) appendWritable(b []byte) []byte {
	b = appendBytes(b, t.Identifier)
	b = appendBytes(b, t.Password)
	b = appendBytes(b, t.Kind)
	return appendBytes(b, t.Service)
}

// token decodes the result of appendWritable.
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

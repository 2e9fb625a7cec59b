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

// Kinds of tokens that YARN issues.
const (
	// KindAMRM authenticates an ApplicationMaster to the ResourceManager.
	KindAMRM = "YARN_AM_RM_TOKEN"
	// KindNM authenticates an ApplicationMaster to one NodeManager.
	KindNM = "NMToken"
	// KindContainer proves to a NodeManager that the ResourceManager has allocated
	// a container.
	KindContainer = "ContainerToken"
)

// Token is a Hadoop token: whoever has its Identifier and Password may act as the
// user in the identifier. The zero Token means no token.
type Token struct {
	// Identifier says who the user is and what the token is for. Its encoding
	// depends on Kind.
	Identifier []byte
	// Password is the secret that proves possession of the token.
	Password []byte
	// Kind is the kind of the token, such as KindAMRM.
	Kind string
	// Service identifies the server that accepts the token, often as "host:port".
	// ResourceManagers leave it empty in an AMRMToken.
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

// Format writes String's result for every verb, so that none prints the password.
func (t Token) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, t.String()) }

// LogValue makes slog log only the token's kind and service.
func (t Token) LogValue() slog.Value {
	return slog.GroupValue(slog.String("kind", t.Kind), slog.String("service", t.Service))
}

// MarshalText returns the result of String, without the password, because a token
// is encoded as JSON only by mistake, for example in a log.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Proto returns the token as a protobuf message.
func (t Token) Proto() *pb.Token {
	return &pb.Token{Identifier: nonNil(t.Identifier), Password: nonNil(t.Password), Kind: &t.Kind, Service: &t.Service}
}

// nonNil replaces nil by an empty slice, because protobuf omits a field that is
// nil.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// TokenFromProto returns the token in the protobuf message p; the zero Token if p
// is nil.
func TokenFromProto(p *pb.Token) Token {
	return Token{Identifier: p.GetIdentifier(), Password: p.GetPassword(), Kind: p.GetKind(), Service: p.GetService()}
}

// EncodeURL returns the token, including its password, in the format of Hadoop's
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

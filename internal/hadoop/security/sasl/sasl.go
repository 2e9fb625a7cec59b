// Package sasl authenticates connections. A [Mechanism] exchanges challenges and
// responses, and may provide a security layer for the connection.
//
// The package implements DIGEST-MD5 (RFC 2831), with which Hadoop checks tokens.
package sasl

// QOP is a quality of protection.
type QOP string

// Qualities of protection, with their names on the wire.
const (
	// Auth only authenticates.
	Auth QOP = "auth"
	// AuthInt also signs every message.
	AuthInt QOP = "auth-int"
	// AuthConf also encrypts every message.
	AuthConf QOP = "auth-conf"
)

// Mechanism is one side of an exchange. It is used for one exchange, and not
// concurrently.
type Mechanism interface {
	// Name is the mechanism's registered name.
	Name() string
	// Step takes the peer's message and returns the reply, nil if there is none. It
	// fails if the peer, or this side's secret, is not valid; the caller then closes
	// the connection.
	Step(message []byte) (answer []byte, err error)
	// Complete reports whether the exchange has succeeded on this side.
	Complete() bool
	// Layer protects the connection after a complete exchange; nil for QOP Auth.
	Layer() Layer
}

// Layer is a security layer. Wrap and Unwrap may be called concurrently with each
// other, but not with themselves. The peer must unwrap in the order of wrapping.
type Layer interface {
	// Wrap protects a piece, of at most MaxPiece bytes. Hadoop's servers do not
	// enforce the limit, and exceed it.
	Wrap(piece []byte) ([]byte, error)
	// Unwrap verifies and decodes the result of the peer's Wrap.
	Unwrap(wrapped []byte) ([]byte, error)
	// MaxPiece is the largest piece that the peer accepts.
	MaxPiece() int
	// QOP is AuthInt or AuthConf.
	QOP() QOP
}

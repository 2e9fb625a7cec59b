// Package sasl implements SASL, which authenticates connections. A [Mechanism]
// exchanges challenges and responses, and may then provide a security layer for the
// connection.
//
// The only mechanism is DIGEST-MD5 (RFC 2831), with which Hadoop authenticates by
// tokens.
package sasl

// QOP is a quality of protection: what SASL provides for a connection.
type QOP string

// Qualities of protection. The values are their names in the protocol.
const (
	// Auth is authentication only.
	Auth QOP = "auth"
	// AuthInt is authentication and a signature for each message.
	AuthInt QOP = "auth-int"
	// AuthConf is authentication and, for each message, a signature and encryption.
	AuthConf QOP = "auth-conf"
)

// Mechanism is one side of a SASL exchange. It serves one exchange and must not be
// used concurrently.
type Mechanism interface {
	// Name returns the mechanism's registered name.
	Name() string
	// Step handles the peer's message and returns the reply; nil if there is none.
	// It fails if the message is invalid or authentication fails. The caller must
	// then close the connection.
	Step(message []byte) (answer []byte, err error)
	// Complete reports whether the exchange has succeeded on this side.
	Complete() bool
	// Layer returns the security layer for the connection once the exchange is
	// complete; nil for QOP Auth.
	Layer() Layer
}

// Layer is a security layer. Wrap and Unwrap may run concurrently with each other,
// but two calls of the same method may not. The peer must unwrap pieces in the
// order in which they were wrapped.
type Layer interface {
	// Wrap protects a piece, which should have at most MaxPiece bytes. Wrap accepts
	// longer pieces too, because Hadoop's servers send them.
	Wrap(piece []byte) ([]byte, error)
	// Unwrap verifies, and for AuthConf decrypts, a piece that the peer wrapped.
	Unwrap(wrapped []byte) ([]byte, error)
	// MaxPiece returns the maximum size of a piece before wrapping, in bytes, so
	// that the peer accepts the wrapped piece.
	MaxPiece() int
	// QOP returns AuthInt or AuthConf.
	QOP() QOP
}

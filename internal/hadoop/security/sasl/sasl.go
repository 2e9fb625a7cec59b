// Package sasl implements SASL, which authenticates connections. A [Mechanism] exchanges
// challenges and responses, and may then provide a security layer for the connection.
//
// The mechanisms are DIGEST-MD5 (RFC 2831), with which Hadoop authenticates by tokens,
// and the client's side of GSSAPI (RFC 4752), with which it authenticates by Kerberos.
package sasl

// QOP is a quality of protection, which SASL provides for a connection.
type QOP string

// Qualities of protection. The values are their names in the protocol.
const (
	Auth     QOP = "auth"      // authentication only
	AuthInt  QOP = "auth-int"  // authentication and a signature for each message
	AuthConf QOP = "auth-conf" // authentication and, for each message, a signature and encryption
)

// Mechanism is one side of one SASL exchange. It must not be used concurrently.
type Mechanism interface {
	// Name returns the mechanism's registered name.
	Name() string
	// Step processes the peer's message and returns the reply; nil if no reply is necessary. It
	// fails if the message is invalid or authentication fails. The caller must then close the
	// connection.
	Step(message []byte) (answer []byte, err error)
	// Complete reports whether the exchange has succeeded on this side.
	Complete() bool
	// Layer returns the security layer after a complete exchange; nil for QOP Auth.
	Layer() Layer
}

// Layer is a security layer. One call of Wrap and one call of Unwrap may run at the same
// time, but not two calls of the same method. Pieces must be unwrapped in the order in
// which they were wrapped.
type Layer interface {
	// Wrap protects a piece, which should have at most MaxPiece bytes. It accepts longer
	// pieces, because Hadoop's servers send them.
	Wrap(piece []byte) ([]byte, error)
	// Unwrap verifies, and for AuthConf decrypts, a piece that the peer wrapped.
	Unwrap(wrapped []byte) ([]byte, error)
	// MaxPiece returns the size in bytes, before Wrap, of the largest piece that the peer
	// accepts.
	MaxPiece() int
	// QOP returns AuthInt or AuthConf.
	QOP() QOP
}

// Package sasl authenticates connections: a mechanism exchanges challenges and
// responses, and may leave a security layer for what follows.
//
// DIGEST-MD5 (RFC 2831), by which Hadoop checks tokens, is the mechanism here;
// others join by implementing Mechanism.
package sasl

// QOP is a quality of protection.
type QOP string

// Qualities of protection, with their names on the wire.
const (
	// Auth authenticates and leaves the connection as it is.
	Auth QOP = "auth"
	// AuthInt also signs every message.
	AuthInt QOP = "auth-int"
	// AuthConf also encrypts every message.
	AuthConf QOP = "auth-conf"
)

// Mechanism is one side of an exchange. It is used once, by one goroutine.
type Mechanism interface {
	// Name is the mechanism's registered name.
	Name() string
	// Step takes what the peer sent and returns the answer, nil if nothing
	// is left to say. Its error means that the peer, or one's own secret, is
	// not what it should be; the connection is then to be closed.
	Step(message []byte) (answer []byte, err error)
	// Complete reports whether this side is done and satisfied.
	Complete() bool
	// Layer protects what follows a complete exchange, nil for QOP Auth.
	Layer() Layer
}

// Layer is a security layer. Wrap may be used beside Unwrap, but neither beside
// itself, and the peer must unwrap in the order of wrapping.
type Layer interface {
	// Wrap protects a piece, which should be of at most MaxPiece bytes: Hadoop's
	// servers keep to no limit, and take none amiss.
	Wrap(piece []byte) ([]byte, error)
	// Unwrap checks and opens what the peer's Wrap made.
	Unwrap(wrapped []byte) ([]byte, error)
	// MaxPiece is how many bytes the peer takes in one piece.
	MaxPiece() int
	// QOP is AuthInt or AuthConf.
	QOP() QOP
}

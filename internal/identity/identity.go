// Package identity authenticates an application's driver to its executors, the
// executors to the driver, and the application's processes to each other.
//
// The driver creates an [Identity], a certificate and a secret, for each application attempt,
// and stores it in memory only. An executor receives a [Pass], the certificate and the secret
// without the private key, in its container's credentials; never on a command line, in an
// environment variable or in a log. The executor connects only to the server with that
// certificate and sends the secret with every call ([Pass.DialOptions],
// [Identity.ServerOptions]). On connections for blocks and broadcasts between the application's
// processes, both ends prove that they have the secret ([Pass.PeerTLS]).
package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"time"
)

// keyExchange is the curve P-256, the fastest key exchange in Go: ten thousand executors may
// connect at once. Go's default, a hybrid with ML-KEM, takes the driver more than twice the
// time. Both ends run the same binary, so no other curve is needed.
var keyExchange = []tls.CurveID{tls.CurveP256}

const (
	secretBytes = 32

	// serverName is the name in the driver's certificate, because TLS requires a name.
	serverName = "driver.bobbin"

	// passMagic is the beginning of an encoded pass. Its last byte is the version of the
	// encoding.
	passMagic = "bobbin\x00\x01"
)

// Certificates are valid at any time, because the clocks of nodes may differ. They need no
// expiry, because a certificate is useless after its process has ended.
var (
	certificateBegins = time.Unix(0, 0)
	certificateEnds   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// Identity is the driver's certificate with its private key, and the secret of one application
// attempt. Format prints neither the key nor the secret.
type Identity struct {
	certificate tls.Certificate
	secret      [secretBytes]byte
}

// New returns a new identity. Its key is of type Ed25519, whose signatures are the fastest to
// create and verify. New fails only if the system's random generator fails.
func New() (*Identity, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the driver's key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make the driver's certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: serverName},
		DNSNames:     []string{serverName},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore:    certificateBegins,
		NotAfter:     certificateEnds,
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, fmt.Errorf("make the driver's certificate: %w", err)
	}
	id := &Identity{certificate: tls.Certificate{Certificate: [][]byte{encoded}, PrivateKey: private}}
	if _, err := rand.Read(id.secret[:]); err != nil {
		return nil, fmt.Errorf("make the application's secret: %w", err)
	}
	return id, nil
}

// Pass returns the application's secret and certificate, encoded, which executors receive in their
// containers' credentials.
func (i *Identity) Pass() []byte {
	certificate := i.certificate.Certificate[0]
	encoded := make([]byte, 0, len(passMagic)+secretBytes+len(certificate))
	encoded = append(encoded, passMagic...)
	encoded = append(encoded, i.secret[:]...)
	return append(encoded, certificate...)
}

// Format implements fmt.Formatter. It prints the same text for every verb.
func (i Identity) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "identity(hidden)") }

// Pass contains what a process needs to connect to the driver and the executors of one
// application attempt. Format does not print its secret.
type Pass struct {
	certificate []byte // the driver's certificate, DER-encoded
	secret      [secretBytes]byte
}

// ParsePass decodes an encoded pass. It fails if the bytes are not a pass of this version.
func ParsePass(encoded []byte) (*Pass, error) {
	if len(encoded) < len(passMagic)+secretBytes || string(encoded[:len(passMagic)]) != passMagic {
		return nil, fmt.Errorf("the pass to the driver (%d bytes) is not one that this version of bobbin makes: "+
			"driver and executors must be of the same binary", len(encoded))
	}
	pass := &Pass{}
	rest := encoded[len(passMagic):]
	copy(pass.secret[:], rest)
	pass.certificate = append([]byte(nil), rest[secretBytes:]...)
	if _, err := x509.ParseCertificate(pass.certificate); err != nil {
		return nil, fmt.Errorf("the pass to the driver (%d bytes) holds no certificate: it was damaged on its way",
			len(encoded))
	}
	return pass, nil
}

// Format implements fmt.Formatter. It prints the same text for every verb.
func (p Pass) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "pass(hidden)") }

func sameSecret(received []byte, secret *[secretBytes]byte) bool {
	return subtle.ConstantTimeCompare(received, secret[:]) == 1
}

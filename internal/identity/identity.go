// Package identity is an application's security: how its executors know that
// they talk to its driver, and how the driver knows its executors.
//
// The driver makes a certificate and a secret for each attempt of the
// application. Both live in memory only. An executor gets a Pass, which the
// cluster manager hands over in the credentials of the executor's container:
// never on a command line, in an environment or in a log. It connects to the
// holder of exactly that certificate and shows the secret with every call. To each
// other, the application's processes prove that they know the secret (PeerTLS).
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

// keyExchange is the curve for which Go has the fastest code: ten thousand
// executors may come at once. Go's own choice, a hybrid with ML-KEM, takes the
// driver more than twice as long. Both ends are of one binary, so there is nothing
// to agree on.
var keyExchange = []tls.CurveID{tls.CurveP256}

const (
	secretBytes = 32

	// serverName is in the certificate because TLS wants a name there; it is
	// the certificate that is checked, not the name.
	serverName = "driver.bobbin"

	// passMagic begins an encoded pass; its last byte is the encoding's version.
	passMagic = "bobbin\x00\x01"
)

// The clocks of a cluster's nodes differ, and a certificate ends with its process:
// its dates decide nothing.
var (
	certificateBegins = time.Unix(0, 0)
	certificateEnds   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// Identity is what one attempt of an application proves itself by. It prints
// as nothing of what it holds.
type Identity struct {
	certificate tls.Certificate
	secret      [secretBytes]byte
}

// New makes an identity that no other application has. It fails only where
// the system has no randomness to give. Its key is of the kind that takes driver
// and executor the least time to sign and to verify.
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
	made := &Identity{certificate: tls.Certificate{Certificate: [][]byte{encoded}, PrivateKey: private}}
	if _, err := rand.Read(made.secret[:]); err != nil {
		return nil, fmt.Errorf("make the application's secret: %w", err)
	}
	return made, nil
}

// Pass is what an executor needs to join, encoded for the credentials of its
// container. ParsePass reads it.
func (i *Identity) Pass() []byte {
	certificate := i.certificate.Certificate[0]
	encoded := make([]byte, 0, len(passMagic)+secretBytes+len(certificate))
	encoded = append(encoded, passMagic...)
	encoded = append(encoded, i.secret[:]...)
	return append(encoded, certificate...)
}

// Format prints what kind of thing an identity is, under every verb.
func (i Identity) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "identity(hidden)") }

// Pass lets an executor join the application it was made for. It prints as
// nothing of what it holds.
type Pass struct {
	certificate []byte // DER
	secret      [secretBytes]byte
}

// ParsePass reads what Identity.Pass encoded. The error says nothing of the
// content.
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

// Format prints what kind of thing a pass is, under every verb.
func (p Pass) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "pass(hidden)") }

func sameSecret(shown []byte, secret *[secretBytes]byte) bool {
	return subtle.ConstantTimeCompare(shown, secret[:]) == 1
}

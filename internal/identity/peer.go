package identity

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
)

// peerKey is the info parameter of HKDF, which derives the peer key from the secret.
const peerKey = "bobbin peer key"

// errOtherApplication is the TLS handshake error with another application's process.
var errOtherApplication = errors.New("the other end is not of this application (its key is made from another secret)")

// PeerTLS returns the TLS configuration for connections between processes of the application,
// for servers and clients. All processes derive the same key from the secret. In TLS 1.3's
// handshake, each end proves that it has the key, but not which process it is.
func (p *Pass) PeerTLS() (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, p.secret[:], nil, peerKey, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the application's peer key: %w", err)
	}
	private := ed25519.NewKeyFromSeed(seed)
	public := private.Public().(ed25519.PublicKey)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: certificateBegins, NotAfter: certificateEnds}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, fmt.Errorf("make the application's peer certificate: %w", err)
	}
	return &tls.Config{
		Certificates:     []tls.Certificate{{Certificate: [][]byte{encoded}, PrivateKey: private}},
		MinVersion:       tls.VersionTLS13,
		CurvePreferences: keyExchange,
		ClientAuth:       tls.RequireAnyClientCert,
		// The certificate has no chain and no name to check: VerifyConnection compares its
		// public key with the process's own.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) != 1 || !public.Equal(state.PeerCertificates[0].PublicKey) {
				return errOtherApplication
			}
			return nil
		},
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
	}, nil
}

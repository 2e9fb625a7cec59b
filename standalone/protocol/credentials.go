package protocol

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// commonName is the name in certificates that are generated from a secret. TLS requires a
// name, but peers check only the key.
const commonName = "bobbin cluster"

// Credentials authenticate a cluster's masters, workers, drivers and clients to each other:
// every connection uses TLS 1.3 with certificates on both sides. The fmt verbs print no
// secret.
type Credentials struct {
	certificate tls.Certificate    // generated from the secret
	private     ed25519.PrivateKey // derived from the secret; peers must have the same key; nil if files is set
	files       *certificateFiles  // nil if the credentials are from a secret
}

// FromSecret returns credentials from a shared secret. Both sides of a connection derive the
// same Ed25519 key from the secret. Each side accepts only a peer that proves that it has the
// key, so the secret is never sent. FromSecret takes tens of milliseconds, except for a secret
// from NewSecret.
func FromSecret(secret []byte) (*Credentials, error) {
	seed, err := seedOf(bytes.TrimSpace(secret))
	if err != nil {
		return nil, err
	}
	private := ed25519.NewKeyFromSeed(seed)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: commonName},
		DNSNames:     []string{commonName},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		// Peers check only the key and not the dates, because clocks differ.
		NotBefore: time.Unix(0, 0),
		NotAfter:  time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, fmt.Errorf("make the cluster's certificate: %w", err)
	}
	return &Credentials{
		certificate: tls.Certificate{Certificate: [][]byte{encoded}, PrivateKey: private},
		private:     private,
	}, nil
}

// Format prints no secrets, whatever the verb is.
func (c Credentials) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "credentials(hidden)")
}

func (c *Credentials) serverConfig() *tls.Config {
	made := &tls.Config{MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true}
	if c.files != nil {
		latest, _ := c.files.current()
		made.Certificates, made.ClientCAs = []tls.Certificate{latest.certificate}, latest.authority
		made.ClientAuth = tls.RequireAndVerifyClientCert
		return made
	}
	made.Certificates = []tls.Certificate{c.certificate}
	made.ClientAuth = tls.RequireAnyClientCert
	made.VerifyConnection = c.verify
	return made
}

func (c *Credentials) clientConfig() *tls.Config {
	made := &tls.Config{MinVersion: tls.VersionTLS13}
	if c.files != nil {
		latest, _ := c.files.current()
		made.Certificates, made.RootCAs = []tls.Certificate{latest.certificate}, latest.authority // crypto/tls also verifies the host name
		return made
	}
	made.Certificates = []tls.Certificate{c.certificate}
	made.ServerName = commonName
	// VerifyConnection accepts only one key, and the handshake proves that the peer has this
	// key. So certificate chains and names need not be verified.
	made.InsecureSkipVerify = true
	made.VerifyConnection = c.verify
	return made
}

// errOtherSecret is the error of a handshake with a peer that does not have the secret.
var errOtherSecret = errors.New("the other side does not have this cluster's secret: master, workers and applications need the same " +
	"~/.bobbin/secret, authenticate.secretFile or BOBBIN_AUTHENTICATE_SECRET, and the same version of bobbin")

func (c *Credentials) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) != 1 {
		return errOtherSecret
	}
	key, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok || !key.Equal(c.private.Public()) {
		return errOtherSecret
	}
	return nil
}

// WriteForChild passes the credentials to a child process of the same user. It returns
// settings with which Load loads the credentials in the child. If the credentials are from a
// secret, WriteForChild writes the key that is derived from the secret to a file of mode 0600
// in dir, which must exist. If they are from certificates, the settings name the certificate
// files, so the certificates can still be renewed.
func (c *Credentials) WriteForChild(dir string) (map[string]string, error) {
	if c.files != nil {
		return map[string]string{
			config.SSLCertFile.Name(): c.files.certificate, config.SSLKeyFile.Name(): c.files.key, config.SSLCAFile.Name(): c.files.authority,
		}, nil
	}
	path, err := filepath.Abs(filepath.Join(dir, "secret"))
	if err == nil {
		err = writePrivate(path, secretOf(c.private.Seed()))
	}
	if err != nil {
		return nil, fmt.Errorf("hand over the cluster's credentials: %w", err)
	}
	return map[string]string{config.AuthenticateSecretFile.Name(): path}, nil
}

func writePrivate(path string, content []byte) error {
	// Remove an existing file first, because WriteFile would not change its mode.
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

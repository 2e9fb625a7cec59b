// Package keystore reads Java's keystores: CA certificates from truststores (JKS and
// PKCS12) and from PEM files, and a server's key (JKS).
package keystore

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"software.sslmate.com/src/go-pkcs12"
)

// LoadTrusted returns the trusted certificates in the truststore file at path. See
// [DecodeTrusted] for formats and passwords.
func LoadTrusted(path, password string) (*x509.CertPool, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("truststore: %w", err)
	}
	certificates, err := DecodeTrusted(content, password)
	if err != nil {
		return nil, fmt.Errorf("truststore %s: %w", path, err)
	}
	pool := x509.NewCertPool()
	for _, certificate := range certificates {
		pool.AddCert(certificate)
	}
	return pool, nil
}

// DecodeTrusted returns the trusted certificates in a truststore. It recognizes the formats
// JKS, PKCS12 and PEM by the content. As in Java, an empty password skips the integrity check
// of a JKS truststore. DecodeTrusted fails if the password is wrong or if the truststore
// contains no certificate.
func DecodeTrusted(content []byte, password string) (certificates []*x509.Certificate, err error) {
	switch {
	// Do not require a configured type: Java, too, accepts PKCS12 for the type "jks" (security
	// property keystore.type.compat).
	case bytes.HasPrefix(content, jksMagic):
		certificates, err = trustedOfJKS(content, password)
	case bytes.Contains(content, []byte("-----BEGIN ")):
		certificates, err = decodePEM(content)
	default:
		if certificates, err = pkcs12.DecodeTrustStore(content, password); err != nil {
			err = fmt.Errorf("want a JKS or PKCS12 truststore, or a PEM file: %w", err)
		}
	}
	if err == nil && len(certificates) == 0 {
		err = errors.New("holds no trusted certificate")
	}
	return certificates, err
}

func trustedOfJKS(content []byte, password string) ([]*x509.Certificate, error) {
	entries, err := decodeJKS(content, password)
	if err != nil {
		return nil, err
	}
	var certificates []*x509.Certificate
	for _, entry := range entries {
		if entry.kind != trustedEntry {
			continue
		}
		certificate, err := x509.ParseCertificate(entry.chain[0])
		if err != nil {
			return nil, fmt.Errorf("the certificate %q: %w", entry.alias, err)
		}
		certificates = append(certificates, certificate)
	}
	return certificates, nil
}

func decodePEM(content []byte) ([]*x509.Certificate, error) {
	var certificates []*x509.Certificate
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certificates = append(certificates, certificate)
	}
	return certificates, nil
}

// Package truststore reads CA certificates from Java truststores (JKS and PKCS12)
// and from PEM files.
package truststore

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"software.sslmate.com/src/go-pkcs12"
)

// LoadTrusted returns the trusted certificates in a file, which is JKS, PKCS12 or PEM by its
// content. As in Java, an empty password skips the integrity check of a JKS truststore.
// Load fails if the file cannot be read, the password is wrong, or there is no
// certificate.
func LoadTrusted(path, password string) (*x509.CertPool, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("truststore: %w", err)
	}
	certificates, err := decode(content, password)
	if err == nil && len(certificates) == 0 {
		err = errors.New("holds no trusted certificate")
	}
	if err != nil {
		return nil, fmt.Errorf("truststore %s: %w", path, err)
	}
	pool := x509.NewCertPool()
	for _, certificate := range certificates {
		pool.AddCert(certificate)
	}
	return pool, nil
}

func decode(content []byte, password string) ([]*x509.Certificate, error) {
	switch {
	// The content decides: for the configured type "jks", Java also accepts PKCS12
	// (security property keystore.type.compat).
	case bytes.HasPrefix(content, jksMagic):
		return decodeJKS(content, password)
	case bytes.Contains(content, []byte("-----BEGIN ")):
		return decodePEM(content)
	}
	certificates, err := pkcs12.DecodeTrustStore(content, password)
	if err != nil {
		err = fmt.Errorf("want a JKS or PKCS12 truststore, or a PEM file: %w", err)
	}
	return certificates, err
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

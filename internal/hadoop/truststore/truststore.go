// Package truststore reads the certificates of authorities from the files that
// name them for Java's TLS (JKS and PKCS12 truststores), and from PEM files.
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

// Load returns the certificates that a file names as trusted. What kind of file
// it is shows in its content. The password is that of a truststore; it may be
// empty for a JKS truststore, which is then not checked for changes, as Java does
// not do so either. Load fails if the file cannot be read, the password is wrong
// or the file names no certificate.
func Load(path, password string) (*x509.CertPool, error) {
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
	// A truststore of Java's type "jks" may be PKCS12 all the same: that type reads
	// both (the security property keystore.type.compat).
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

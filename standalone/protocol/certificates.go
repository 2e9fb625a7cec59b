package protocol

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// certificateFiles are where PEM files were read from, and what they held.
type certificateFiles struct {
	certificate, key, authority []byte
}

// FromCertificates makes credentials of three PEM files: the certificate (with
// intermediate ones behind it) and key of this side, and the certificates of
// the authorities that sign for the cluster. Certificates must be good for
// servers and clients, a master's for the names by which it is reached.
func FromCertificates(certificateFile, keyFile, authorityFile string) (*Credentials, error) {
	files := &certificateFiles{}
	for _, file := range []struct {
		key, path string
		content   *[]byte
	}{
		{"ssl.certFile", certificateFile, &files.certificate},
		{"ssl.keyFile", keyFile, &files.key},
		{"ssl.caFile", authorityFile, &files.authority},
	} {
		content, err := os.ReadFile(file.path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.key, err)
		}
		*file.content = content
	}
	certificate, err := tls.X509KeyPair(files.certificate, files.key)
	if err != nil {
		return nil, fmt.Errorf("ssl.certFile %s with ssl.keyFile %s: %w", certificateFile, keyFile, err)
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(files.authority) {
		return nil, fmt.Errorf("ssl.caFile %s holds no certificate in PEM", authorityFile)
	}
	return &Credentials{certificate: certificate, authority: authority, files: files}, nil
}

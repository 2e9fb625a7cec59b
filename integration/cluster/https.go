package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/keystore"
)

const storePassword = "geheim"

// keystore and truststore return the paths of the files with the certificate that all web
// servers use. The files exist only on a cluster with Options.HTTPS.
func (p paths) keystore() string   { return filepath.Join(p.dir, "conf", "keystore.p12") }
func (p paths) truststore() string { return filepath.Join(p.dir, "conf", "truststore.p12") }

// webKeys replaces a property name for an HTTP address by the name for the HTTPS address.
var webKeys = strings.NewReplacer("http-address", "https-address", "http.address", "https.address", "webapp.address", "webapp.https.address")

// webKey returns the name of the property for a web server's address on this cluster. key is
// the name of the property for its HTTP address.
func (p properties) webKey(key string) string {
	if p.options.HTTPS {
		return webKeys.Replace(key)
	}
	return key
}

// https returns the properties with which web servers use HTTPS, or none if Options.HTTPS is
// false.
func (p properties) https() site {
	if !p.options.HTTPS {
		return site{}
	}
	store := func(prefix, path string) Properties {
		return Properties{prefix + "location": path, prefix + "password": storePassword, prefix + "type": "pkcs12"}
	}
	return site{
		hdfs:      Properties{"dfs.http.policy": "HTTPS_ONLY"},
		yarn:      Properties{"yarn.http.policy": "HTTPS_ONLY"},
		sslClient: store("ssl.client.truststore.", p.paths.truststore()),
		sslServer: store("ssl.server.truststore.", p.paths.truststore()).with(
			store("ssl.server.keystore.", p.paths.keystore()), Properties{"ssl.server.keystore.keypassword": storePassword}),
	}
}

// writeStores creates one certificate for all hosts and writes it to the keystore and the
// truststore.
func (p paths) writeStores(nodes []NodeSpec) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "a cluster for tests"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 1, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.ParseIP(masterHost)},
	}
	for _, node := range nodes {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(node.Host))
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	certificate, err := x509.ParseCertificate(encoded)
	if err != nil {
		return err
	}
	keystore, err := pkcs12.Modern.Encode(key, certificate, nil, storePassword)
	if err != nil {
		return err
	}
	trusted, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{certificate}, storePassword)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(p.keystore(), keystore, 0o600), os.WriteFile(p.truststore(), trusted, 0o644))
}

// webClient is an HTTP transport for requests to the daemons' web servers. scheme is the scheme
// of the servers' URLs.
type webClient struct {
	http.RoundTripper
	scheme string
}

// plainWeb returns a webClient for HTTP without idle connections, which would outlive the
// cluster.
func plainWeb() webClient { return webClient{&http.Transport{DisableKeepAlives: true}, "http"} }

// webServers returns a webClient for the web servers of the cluster in the directory. The
// client uses HTTPS if the cluster has a truststore.
func (p paths) webServers() (webClient, error) {
	trusted, err := keystore.LoadTrusted(p.truststore(), storePassword)
	if errors.Is(err, fs.ErrNotExist) {
		return plainWeb(), nil
	}
	return webClient{&http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: trusted}}, "https"}, err
}

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

// storePassword is the password of keystore and truststore.
const storePassword = "geheim"

// keystore and truststore are the files with the certificate that all web servers share. They
// exist only on a cluster with Options.HTTPS.
func (p paths) keystore() string   { return filepath.Join(p.dir, "conf", "keystore.p12") }
func (p paths) truststore() string { return filepath.Join(p.dir, "conf", "truststore.p12") }

// webKeys replaces the keys of web servers' HTTP addresses by the keys of their HTTPS addresses.
var webKeys = strings.NewReplacer("http-address", "https-address", "http.address", "https.address", "webapp.address", "webapp.https.address")

// webKey returns the key of a web server's address on this cluster. key is the key for HTTP.
func (p properties) webKey(key string) string {
	if p.options.HTTPS {
		return webKeys.Replace(key)
	}
	return key
}

// https returns the properties that make web servers use HTTPS. It returns none if
// Options.HTTPS is false.
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

// writeStores creates a certificate of all hosts, and writes keystore and truststore.
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

// webClient sends requests to the daemons' web servers, whose URLs begin with scheme.
type webClient struct {
	http.RoundTripper
	scheme string
}

// plainWeb returns a webClient for HTTP. It keeps no idle connections, because they would outlive
// the cluster.
func plainWeb() webClient { return webClient{&http.Transport{DisableKeepAlives: true}, "http"} }

// webServers returns a webClient for the web servers of the cluster in the directory. It uses
// HTTPS if the cluster does.
func (p paths) webServers() (webClient, error) {
	trusted, err := keystore.LoadTrusted(p.truststore(), storePassword)
	if errors.Is(err, fs.ErrNotExist) {
		return plainWeb(), nil
	}
	return webClient{&http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: trusted}}, "https"}, err
}

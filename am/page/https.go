package page

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/keystore"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

// Names of the secrets that the ResourceManager adds to the credentials of ApplicationMasters
// (AMSecretKeys), if yarn.resourcemanager.application-https.policy is not NONE. For programs that
// cannot read credentials, NodeManagers also write the secrets to files, which
// KEYSTORE_FILE_LOCATION and TRUSTSTORE_FILE_LOCATION name.
const (
	keystoreSecret   = "yarn.application.am.keystore"
	truststoreSecret = "yarn.application.am.truststore"
	passwordSuffix   = ".password"
)

// certificates are the certificates by which the web proxy and the application's page authenticate
// each other (ProxyCA).
type certificates struct {
	// page is the certificate of the page, with its key. Its name is the application's id. The
	// certificate is already expired when it is issued; the proxy ignores this.
	page tls.Certificate
	// proxy is the certificate that the proxy presents: the certificate of the authority that
	// issues the pages' certificates. Only the ResourceManager has its key.
	proxy []*x509.Certificate
}

// certificatesFrom returns the certificates in the credentials of an ApplicationMaster; nil if they
// contain none.
func certificatesFrom(credentials *security.Credentials) (*certificates, error) {
	if credentials == nil {
		return nil, nil
	}
	store, ok := credentials.Secret(keystoreSecret)
	if !ok {
		return nil, nil
	}
	password, _ := credentials.Secret(keystoreSecret + passwordSuffix)
	own, err := keystore.DecodeKey(store, string(password))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", keystoreSecret, err)
	}
	store, _ = credentials.Secret(truststoreSecret)
	password, _ = credentials.Secret(truststoreSecret + passwordSuffix)
	proxy, err := keystore.DecodeTrusted(store, string(password))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", truststoreSecret, err)
	}
	return &certificates{page: own, proxy: proxy}, nil
}

// listener returns a listener that accepts TLS connections from inner, and requests client
// certificates. It does not require a certificate, because browsers have none; isProxy verifies the
// certificate of the proxy.
func (c *certificates) listener(inner net.Listener) net.Listener {
	return tls.NewListener(inner, &tls.Config{Certificates: []tls.Certificate{c.page}, ClientAuth: tls.RequestClientCert})
}

// isProxy reports whether the proxy has sent the request. A client with another certificate of the
// same authority, such as the page of another application, is not the proxy.
func (c *certificates) isProxy(r *http.Request) bool {
	return r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && slices.ContainsFunc(c.proxy, r.TLS.PeerCertificates[0].Equal)
}

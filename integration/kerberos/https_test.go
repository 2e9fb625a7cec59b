//go:build kerberos

package kerberos

import (
	"crypto/tls"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/keystore"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

// httpsPolicyKey is the property that decides whether ApplicationMasters serve their pages by
// HTTPS.
const httpsPolicyKey = "yarn.resourcemanager.application-https.policy"

var pageInLog = regexp.MustCompile(`msg="serving the application's page" url=(https?)(://\S+/)`)

// pageOf waits until the ApplicationMaster of alice's application serves its page with the
// given scheme, and returns the page's URL without the scheme.
func (s *kerberosCluster) pageOf(t *testing.T, id, scheme string) (address string) {
	var found []string
	var logs commandResult
	require.Eventually(t, func() bool {
		logs = s.run(t, "logs", id)
		found = pageInLog.FindStringSubmatch(logs.stdout)
		return found != nil
	}, testTimeout, 200*time.Millisecond, "%+v", &logs)
	require.Equal(t, scheme, found[1])
	return found[2]
}

// testPageByHTTP requests the page of alice's application directly from its ApplicationMaster.
// The web proxy is on loopback, so the ApplicationMaster treats every request from this machine
// as a request of the proxy, and trusts the user name in the proxy's cookie.
func (s *kerberosCluster) testPageByHTTP(t *testing.T, id string) {
	address := s.pageOf(t, id, "http")
	for user, status := range map[string]int{
		cluster.Alice: http.StatusOK, viewer: http.StatusOK, modifier: http.StatusForbidden,
		cluster.Bob: http.StatusForbidden, "dr.who": http.StatusForbidden, "": http.StatusForbidden,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http"+address+page.StatusPath, nil)
		require.NoError(t, err)
		if user != "" {
			request.AddCookie(&http.Cookie{Name: "proxy-user", Value: user})
		}
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		content, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, status, response.StatusCode, "%q: %s", user, content)
	}
}

// testPageByHTTPS requests the page of alice's application directly from its ApplicationMaster.
// With HTTPS, the ApplicationMaster accepts only requests with the web proxy's client
// certificate.
func (s *kerberosCluster) testPageByHTTPS(t *testing.T, id string) {
	address := s.pageOf(t, id, "https")
	var own tls.Certificate
	for _, file := range s.tokenFiles(t, id) {
		credentials, err := security.ReadCredentialsFile(file)
		require.NoError(t, err)
		if key, ok := pageKey(t, credentials); ok {
			own = key
		}
	}
	require.NotEmpty(t, own.Certificate)
	ask := func(scheme string, shows ...tls.Certificate) (response *http.Response, content string) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: shows}}
		defer transport.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+address, nil)
		require.NoError(t, err)
		request.AddCookie(&http.Cookie{Name: "proxy-user", Value: cluster.Alice})
		response, err = transport.RoundTrip(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response, string(text)
	}
	response, content := ask("http")
	assert.Equal(t, http.StatusBadRequest, response.StatusCode, content)
	for _, shows := range [][]tls.Certificate{nil, {own}} { // neither is the proxy's certificate
		response, content = ask("https", shows...)
		assert.Equal(t, http.StatusFound, response.StatusCode, content)
		assert.Equal(t, "http://"+s.ResourceManager().Address(cluster.HTTP)+"/proxy/redirect/"+id+"/", response.Header.Get("Location"))
		assert.Equal(t, own.Certificate[0], response.TLS.PeerCertificates[0].Raw)
		assert.Equal(t, "CN="+id, response.TLS.PeerCertificates[0].Subject.String())
	}
}

// requirePage waits until the web proxy shows an application's status. This web proxy does not
// require tickets.
func (s *kerberosCluster) requirePage(t *testing.T, id string) {
	address := "http://" + s.ResourceManager().Address(cluster.HTTP) + "/proxy/" + id + "/" + page.StatusPath
	var seen string
	require.Eventually(t, func() bool {
		response, err := http.Get(address)
		if err != nil {
			seen = err.Error()
			return false
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		seen = response.Status + " " + string(content)
		return err == nil && response.StatusCode == http.StatusOK && strings.Contains(seen, `"`+id+`"`)
	}, testTimeout, 200*time.Millisecond, "%s", &seen)
}

// pageKey returns the key for HTTPS of an ApplicationMaster's page from the container's
// credentials. ok is false if the ResourceManager has not put a key into the credentials.
func pageKey(t *testing.T, credentials *security.Credentials) (key tls.Certificate, ok bool) {
	store, ok := credentials.Secret("yarn.application.am.keystore")
	if !ok {
		return key, false
	}
	password, _ := credentials.Secret("yarn.application.am.keystore.password")
	key, err := keystore.DecodeKey(store, string(password))
	require.NoError(t, err)
	return key, true
}

package page

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/keystore"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

func readStore(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "internal", "hadoop", "keystore", "testdata", name))
	require.NoError(t, err)
	return content
}

// withCertificates returns credentials that an ApplicationMaster receives if the policy is STRICT.
func withCertificates(t *testing.T) *security.Credentials {
	c := &security.Credentials{}
	c.SetSecret("yarn.application.am.keystore", readStore(t, "application.jks"))
	c.SetSecret("yarn.application.am.keystore.password", []byte("sesame"))
	c.SetSecret("yarn.application.am.truststore", readStore(t, "authority.jks"))
	c.SetSecret("yarn.application.am.truststore.password", []byte("barley"))
	return c
}

// servePage serves a page, and returns its URL and its log.
func servePage(t *testing.T, credentials *security.Credentials, hadoop map[string]string) (url string, log *bytes.Buffer) {
	t.Helper()
	settings, err := config.FromMap(nil)
	require.NoError(t, err)
	log = &bytes.Buffer{}
	server, err := Serve(Options{
		BindAddress: "127.0.0.1", Application: "application_1_0001", Owner: "owner", Settings: settings, ActiveRM: func() int { return 0 },
		Hadoop: conf.FromMap(hadoop), Credentials: credentials,
		Snapshot: events.NewModel(events.Limits{}).Snapshot, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server.URL("127.0.0.1"), log
}

func TestThePageKnowsTheProxyByItsCertificate(t *testing.T) {
	decode := func(name, password string) tls.Certificate {
		pair, err := keystore.DecodeKey(readStore(t, name), password)
		require.NoError(t, err)
		return pair
	}
	application, proxy := decode("application.jks", "sesame"), decode("proxy.jks", "millet")
	for _, manager := range []string{"127.0.0.1", "192.0.2.1"} { // the address from which the test's requests come, and another address
		url, _ := servePage(t, withCertificates(t), map[string]string{"yarn.resourcemanager.hostname": manager})
		require.True(t, strings.HasPrefix(url, "https://127.0.0.1:"), url)
		for who, test := range map[string]struct {
			shows  []tls.Certificate
			status int
		}{
			"the proxy": {[]tls.Certificate{proxy}, http.StatusOK},
			"anyone":    {nil, http.StatusFound},
			// The certificates of all applications have the same authority.
			"an application": {[]tls.Certificate{application}, http.StatusFound},
		} {
			transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: test.shows}}
			defer transport.CloseIdleConnections()
			response, err := transport.RoundTrip(httptest.NewRequest(http.MethodGet, url, nil))
			require.NoError(t, err, who)
			require.NoError(t, response.Body.Close())
			require.Equal(t, test.status, response.StatusCode, who)
			if test.status == http.StatusFound {
				require.Equal(t, "http://"+manager+":8088/proxy/redirect/application_1_0001/", response.Header.Get("Location"))
			}
			// The proxy expects the certificate of the application and that of its authority.
			require.Len(t, response.TLS.PeerCertificates, 2)
			for i, certificate := range response.TLS.PeerCertificates {
				require.Equal(t, application.Certificate[i], certificate.Raw)
			}
		}
		response, err := http.Get("http" + strings.TrimPrefix(url, "https"))
		require.NoError(t, err)
		content, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusBadRequest, response.StatusCode)
		require.Equal(t, "Client sent an HTTP request to an HTTPS server.\n", string(content))
	}
}

func TestWhenThePageIsServedByHTTP(t *testing.T) {
	without := func(alias string) *security.Credentials {
		c := withCertificates(t)
		c.SetSecret(alias, []byte("of no use"))
		return c
	}
	for name, test := range map[string]struct {
		credentials *security.Credentials
		proxy       string // value of yarn.web-proxy.address
		scheme, log string
	}{
		"the policy is NONE":         {&security.Credentials{}, "", "http", ""},
		"no credentials":             {nil, "", "http", ""},
		"the proxy runs by itself":   {withCertificates(t), "127.0.0.1:9099", "http", ""},
		"the ResourceManager has it": {withCertificates(t), "127.0.0.1:8088", "https", ""},
		"no keystore":                {without("yarn.application.am.keystore"), "", "http", "yarn.application.am.keystore: keystore: is no JKS keystore"},
		"another password":           {without("yarn.application.am.keystore.password"), "", "http", "its password is another"},
		"no truststore":              {without("yarn.application.am.truststore"), "", "http", "yarn.application.am.truststore: want a JKS or PKCS12 truststore"},
	} {
		t.Run(name, func(t *testing.T) {
			hadoop := map[string]string{"yarn.resourcemanager.hostname": "127.0.0.1"}
			if test.proxy != "" {
				hadoop["yarn.web-proxy.address"] = test.proxy
			}
			url, log := servePage(t, test.credentials, hadoop)
			require.True(t, strings.HasPrefix(url, test.scheme+"://"), url)
			if test.log == "" {
				require.Empty(t, log.String())
				return
			}
			require.Contains(t, log.String(), "yarn.resourcemanager.application-https.policy")
			require.Contains(t, log.String(), test.log)
			for _, secret := range []string{"sesame", "barley", "of no use"} {
				require.NotContains(t, log.String(), secret)
			}
		})
	}
}

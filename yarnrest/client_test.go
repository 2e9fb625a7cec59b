package yarnrest

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// routes maps "METHOD /path" to the reply: a body, which is sent with status 200, or a
// handler.
type routes map[string]any

// serve starts a server that replies according to routes. Any other request fails the test.
func serve(t *testing.T, r routes) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch answer := r[req.Method+" "+req.URL.Path].(type) {
		case string:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, answer)
		case func(http.ResponseWriter, *http.Request):
			answer(w, req)
		default:
			t.Errorf("unexpected request %s %s", req.Method, req.URL)
			http.Error(w, "unexpected", http.StatusNotImplemented)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// client returns a Client that tries each address once, unless o.MaxWait is set.
func client(t *testing.T, o Options, addresses ...string) *Client {
	t.Helper()
	o.Addresses = addresses
	if o.MaxWait == 0 {
		o.MaxWait = -1
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// refused returns an address that refuses connections.
func refused(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(nil)
	s.Close()
	return s.URL
}

const metricsAnswer = `{"clusterMetrics":{"appsSubmitted":3,"totalMB":"4096","activeNodes":2}}`

func standbyTo(active string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", active+r.URL.RequestURI())
		w.WriteHeader(http.StatusTemporaryRedirect)
		fmt.Fprintf(w, "This is standby RM. The redirect url is: %s\n", r.URL.RequestURI())
	}
}

func noActive(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Refresh", "4;url=http://rm:8088"+r.URL.Path+"?next.refresh.interval=1")
	w.WriteHeader(http.StatusTemporaryRedirect)
	io.WriteString(w, "Can not find any active RM. Will retry in next 4 seconds.\nHA Zookeeper Connection State: x\n")
}

func status(code int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

func remote(code int, exception, message string) func(http.ResponseWriter, *http.Request) {
	return status(code, fmt.Sprintf(`{"RemoteException":{"exception":%q,"message":%q,"javaClassName":"org.apache.%s"}}`, exception, message, exception))
}

const metricsPath = "GET /ws/v1/cluster/metrics"

func TestFailover(t *testing.T) {
	active := serve(t, routes{metricsPath: metricsAnswer})
	for name, first := range map[string]string{
		"nobody listens":             refused(t),
		"standby without an active":  serve(t, routes{metricsPath: noActive}).URL,
		"standby that will not say":  serve(t, routes{metricsPath: status(200, "There is no active RM right now.\nHA Zookeeper Connection State: x")}).URL,
		"standby that names another": serve(t, routes{metricsPath: standbyTo(active.URL)}).URL,
		"standby that names a wrong": serve(t, routes{metricsPath: standbyTo(refused(t))}).URL,
		"standby exception":          serve(t, routes{metricsPath: remote(404, "StandbyException", "ResourceManager rm1 is not Active!")}).URL,
		"starting":                   serve(t, routes{metricsPath: status(503, "Service Unavailable")}).URL,
		"gateway":                    serve(t, routes{metricsPath: status(502, "<html><head><title>x</title></head><body>Bad gateway</body></html>")}).URL,
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, Options{}, first, active.URL)
			m, err := c.Metrics(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if m.AppsSubmitted != 3 || m.TotalMB != 4096 {
				t.Errorf("got %+v", m)
			}
			if got := c.candidates()[0]; got != active.URL {
				t.Errorf("remembers %s, not %s", got, active.URL)
			}
		})
	}
}

func TestFailoverToAnUnconfiguredAddress(t *testing.T) {
	active := serve(t, routes{metricsPath: metricsAnswer})
	standby := serve(t, routes{metricsPath: standbyTo(active.URL)})
	c := client(t, Options{User: "ann"}, standby.URL)
	if _, err := c.Metrics(context.Background()); err != nil {
		t.Fatal(err)
	}
	standby.Close() // the next call must not need the standby
	if _, err := c.Metrics(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestFailoverFromTheLastActive(t *testing.T) {
	first := serve(t, routes{metricsPath: metricsAnswer})
	second := serve(t, routes{metricsPath: metricsAnswer})
	c := client(t, Options{}, first.URL, second.URL)
	if _, err := c.Metrics(context.Background()); err != nil {
		t.Fatal(err)
	}
	first.Close()
	if _, err := c.Metrics(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := c.candidates()[0]; got != second.URL {
		t.Errorf("remembers %s", got)
	}
}

func TestTwoStandbysThatNameEachOtherEnd(t *testing.T) {
	var a, b *httptest.Server
	a = serve(t, routes{metricsPath: func(w http.ResponseWriter, r *http.Request) { standbyTo(b.URL)(w, r) }})
	b = serve(t, routes{metricsPath: func(w http.ResponseWriter, r *http.Request) { standbyTo(a.URL)(w, r) }})
	_, err := client(t, Options{}, a.URL, b.URL).Metrics(context.Background())
	var unavailable *UnavailableError
	if !errors.As(err, &unavailable) || len(unavailable.Attempts) != 2 {
		t.Errorf("got %v", err)
	}
}

func TestWaitsForAFailover(t *testing.T) {
	asked := 0
	s := serve(t, routes{metricsPath: func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked < 3 {
			noActive(w, r)
			return
		}
		io.WriteString(w, metricsAnswer)
	}})
	if _, err := client(t, Options{MaxWait: time.Minute}, s.URL).Metrics(context.Background()); err != nil {
		t.Fatal(err)
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}

func TestClusterInfoSkipsStandbys(t *testing.T) {
	info := func(state string) string {
		return fmt.Sprintf(`{"clusterInfo":{"id":1700000000000,"startedOn":1700000000000,"state":"STARTED","haState":%q,"hadoopVersion":"3.4.3"}}`, state)
	}
	standby := serve(t, routes{"GET /ws/v1/cluster/info": info("STANDBY")})
	active := serve(t, routes{"GET /ws/v1/cluster/info": info("ACTIVE")})
	got, err := client(t, Options{}, standby.URL, active.URL).ClusterInfo(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got.HAState != "ACTIVE" || got.HadoopVersion != "3.4.3" || !got.StartedOn.Equal(time.UnixMilli(1700000000000)) {
		t.Errorf("got %+v", got)
	}
	if _, err := client(t, Options{}, standby.URL).ClusterInfo(context.Background()); err == nil || !strings.Contains(err.Error(), "STANDBY") {
		t.Errorf("got %v", err)
	}
}

func TestUnavailableNamesAddressesTimeAndCauses(t *testing.T) {
	down, standby := refused(t), serve(t, routes{metricsPath: noActive}).URL
	var err error
	var unavailable *UnavailableError
	// Double the wait until the first address was tried twice, because two tries can take long
	// on a busy machine.
	for wait := 400 * time.Millisecond; unavailable == nil || unavailable.Attempts[0].Tries < 2 && wait < time.Minute; wait *= 2 {
		_, err = client(t, Options{MaxWait: wait}, down, standby).Metrics(context.Background())
		if !errors.As(err, &unavailable) {
			t.Fatalf("got %v", err)
		}
	}
	for _, want := range []string{"ResourceManager", down, "connection refused", standby, "not find any active RM", "tries", "ms"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not contain %q", err, want)
		}
	}
	if unavailable.Elapsed <= 0 || unavailable.Attempts[0].Tries < 2 {
		t.Errorf("got %+v", unavailable)
	}
}

func TestFailoverFromAHangingServer(t *testing.T) {
	done := make(chan struct{})
	hang := serve(t, routes{metricsPath: func(http.ResponseWriter, *http.Request) { <-done }})
	defer close(done)
	active := serve(t, routes{metricsPath: metricsAnswer})
	c := client(t, Options{RequestTimeout: 50 * time.Millisecond}, hang.URL, active.URL)
	if _, err := c.Metrics(context.Background()); err != nil {
		t.Error(err)
	}
	_, err := client(t, Options{RequestTimeout: 50 * time.Millisecond}, hang.URL).Metrics(context.Background())
	if err == nil || !strings.Contains(err.Error(), "no answer within 50ms") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestTheContextEndsACall(t *testing.T) {
	s := serve(t, routes{metricsPath: noActive})
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	if _, err := client(t, Options{MaxWait: time.Hour}, s.URL).Metrics(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), s.URL) {
		t.Errorf("got %v", err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := client(t, Options{MaxWait: time.Hour}, s.URL).Metrics(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPermanentErrorsAreNotRetried(t *testing.T) {
	plain := serve(t, routes{})
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0) // otherwise the server logs the failed handshakes
	tls.StartTLS()
	defer tls.Close()
	for name, address := range map[string]string{
		"no TLS":            strings.Replace(plain.URL, "http:", "https:", 1),
		"wrong certificate": tls.URL,
	} {
		// These errors are permanent. If the call were retried, it would take an hour.
		_, err := client(t, Options{MaxWait: time.Hour}, address).Metrics(context.Background())
		var unavailable *UnavailableError
		if !errors.As(err, &unavailable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if !permanent(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}) {
		t.Error("a name that does not exist is tried again")
	}
	if permanent(&net.DNSError{Err: "i/o timeout", IsTimeout: true}) {
		t.Error("a name server that is slow is not tried again")
	}
}

// TestRefusedTicketIsNotRetried sends a request to a server that requires a Kerberos ticket
// for a principal that the KDC does not know. If the call were retried, it would take an hour.
func TestRefusedTicketIsNotRetried(t *testing.T) {
	kdc := kdctest.Start(t)
	keytab := filepath.Join(t.TempDir(), "keytab")
	if err := kdc.AddKeytab(t.Context(), keytab, "alice"); err != nil {
		t.Fatal(err)
	}
	alice, err := kerberos.Open(t.Context(), kerberos.Options{Principal: "alice", Keytab: keytab})
	if err != nil {
		t.Fatal(err)
	}
	defer alice.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Negotiate")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer s.Close()
	secure := &http.Client{Transport: alice.RoundTripper(s.Client().Transport)}
	_, err = client(t, Options{HTTP: secure, MaxWait: time.Hour}, s.URL).Metrics(t.Context())
	if err == nil || !strings.Contains(err.Error(), "get a ticket for HTTP/127.0.0.1: the KDC does not know the service's principal") {
		t.Error(err)
	}
}

func TestHTTPSWithOptionsHTTP(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, metricsAnswer) }))
	defer s.Close()
	c := client(t, Options{Scheme: "https", HTTP: s.Client()}, strings.TrimPrefix(s.URL, "https://"))
	if _, err := c.Metrics(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestHTTPSTrustsTheConfiguredTruststore(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, metricsAnswer) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // otherwise the server logs the failed handshake
	s.StartTLS()
	defer s.Close()
	authority := filepath.Join(t.TempDir(), "authority.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(authority, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(truststore string) error {
		c, err := FromConf(conf.FromMap(map[string]string{
			"yarn.http.policy": "HTTPS_ONLY", "yarn.resourcemanager.webapp.https.address": strings.TrimPrefix(s.URL, "https://"),
			"ssl.client.truststore.location": truststore,
		}), Options{})
		if err != nil {
			return err
		}
		defer c.CloseIdleConnections()
		_, err = c.Metrics(context.Background())
		return err
	}
	if err := ask(authority); err != nil {
		t.Errorf("with its authority in the truststore: %v", err)
	}
	for truststore, want := range map[string]string{
		"": "ssl.client.truststore.location",
		filepath.Join("..", "internal", "hadoop", "keystore", "testdata", "truststore.jks"): "ssl.client.truststore.location",
		"/does/not/exist": "/does/not/exist",
	} {
		if err := ask(truststore); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with truststore %q: got %v, want %s in it", truststore, err, want)
		}
	}
}

func TestTheUserIsSent(t *testing.T) {
	s := serve(t, routes{metricsPath: func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("user.name"); got != "ann b" {
			t.Errorf("user.name = %q", got)
		}
		io.WriteString(w, metricsAnswer)
	}})
	if _, err := client(t, Options{User: "ann b"}, s.URL).Metrics(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestMalformedAnswers(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"HTML":           {"<html><body>Welcome</body></html>", `it begins "Welcome"`},
		"cut off":        {`{"clusterMetrics":{"apps`, "not JSON"},
		"more":           {`{"clusterMetrics":{"a":1}} x`, "not JSON"},
		"another object": {`{"x":1}`, "no clusterMetrics"},
		"an array":       {`[]`, "no JSON object"},
		"nothing":        {"", "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, routes{metricsPath: status(200, test.body)})
			_, err := client(t, Options{MaxWait: time.Hour}, s.URL).Metrics(context.Background())
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), s.URL) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		"no address":   {},
		"ftp":          {Addresses: []string{"a:1"}, Scheme: "ftp"},
		"ws://a":       {Addresses: []string{"ws://a"}},
		"there is no ": {Addresses: []string{":8088"}},
		"web proxy":    {Addresses: []string{"a"}, WebProxy: "http://"},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", o, err, want)
		}
	}
}

func TestFromConf(t *testing.T) {
	c, err := FromConf(conf.FromMap(map[string]string{
		"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "a,b",
		"yarn.resourcemanager.hostname.a": "ha", "yarn.resourcemanager.hostname.b": "hb",
		"yarn.http.policy": "HTTPS_ONLY", "yarn.web-proxy.address": "proxy:9",
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.addresses, " "); got != "https://ha:8090 https://hb:8090" || c.webProxy != "https://proxy:9" {
		t.Errorf("got %s and %s", got, c.webProxy)
	}
	if _, err := FromConf(conf.FromMap(map[string]string{"yarn.resourcemanager.webapp.address": "rm:x"}), Options{}); err == nil {
		t.Error("a bad address was taken")
	}
}

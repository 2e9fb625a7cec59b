// Package yarnrest is a client of YARN's REST APIs: that of the ResourceManager (applications,
// nodes, queues, metrics, submission) and that of the NodeManager (containers and their logs).
// It finds the active ResourceManager of a highly available cluster. It supports Hadoop 3.3 to
// 3.5.
//
// Hadoop's versions encode the same data differently in JSON: a list of one element may be an
// object; an empty list may be missing, null or ""; numbers may be strings. The types of this
// package hide these differences.
package yarnrest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/keystore"
)

// Defaults of Options.MaxWait and Options.RequestTimeout.
const (
	DefaultMaxWait        = 30 * time.Second
	DefaultRequestTimeout = 15 * time.Second
)

// Options configure a Client.
type Options struct {
	// Addresses are the ResourceManagers' web addresses, at least one: "host:port",
	// to which Scheme is added, or "http://host:port" or "https://host:port".
	Addresses []string
	// Scheme is "http" (the default) or "https". It applies to NodeManagers, and to those of
	// Addresses and WebProxy that contain no scheme.
	Scheme string
	// WebProxy is the address of the web application proxy (yarn.web-proxy.address) if it runs
	// outside the ResourceManager; otherwise "".
	WebProxy string
	// User is sent as the query parameter user.name, which only clusters without
	// authentication accept. It must be "" if the client in the field HTTP authenticates.
	User string
	// HTTP sends the requests, for example with TLS settings, a proxy or authentication.
	// nil means a client that trusts RootCAs and uses no HTTP proxy.
	HTTP *http.Client
	// RootCAs are the certificate authorities that the default HTTP client trusts; nil means
	// those of the operating system.
	RootCAs *x509.CertPool
	// MaxWait is how long a call searches for the active ResourceManager before it fails with
	// an UnavailableError. 0 means DefaultMaxWait; a negative value means that each address is
	// tried once.
	MaxWait time.Duration
	// RequestTimeout limits the duration of one request; 0 means DefaultRequestTimeout.
	RequestTimeout time.Duration
	// Logger receives failovers at level Info and requests at level Debug. It may be nil.
	Logger *slog.Logger
}

// Client calls the REST APIs of one cluster. It is safe for concurrent use.
type Client struct {
	addresses      []string // base URLs without a trailing slash
	scheme         string
	webProxy       string
	user           string
	http           *http.Client // does not follow redirects
	maxWait        time.Duration
	requestTimeout time.Duration
	log            *slog.Logger

	// active is the base URL of the ResourceManager that last answered as the active one. It
	// is not always one of addresses, because a standby may redirect to the active
	// ResourceManager under a different host name.
	active atomic.Pointer[string]
}

// New returns a Client. It does not connect.
func New(o Options) (*Client, error) {
	if len(o.Addresses) == 0 {
		return nil, errors.New("no address of a ResourceManager: set yarn.resourcemanager.hostname or yarn.resourcemanager.webapp.address in yarn-site.xml")
	}
	c := &Client{
		scheme:         o.Scheme,
		user:           o.User,
		maxWait:        o.MaxWait,
		requestTimeout: o.RequestTimeout,
		log:            o.Logger,
	}
	switch c.scheme {
	case "":
		c.scheme = "http"
	case "http", "https":
	default:
		return nil, fmt.Errorf("scheme %q of the ResourceManager's web services is not http or https", c.scheme)
	}
	for _, address := range o.Addresses {
		base, err := baseURL(c.scheme, address)
		if err != nil {
			return nil, fmt.Errorf("address %q of a ResourceManager: %w", address, err)
		}
		c.addresses = append(c.addresses, base)
	}
	if o.WebProxy != "" {
		base, err := baseURL(c.scheme, o.WebProxy)
		if err != nil {
			return nil, fmt.Errorf("address %q of the web proxy: %w", o.WebProxy, err)
		}
		c.webProxy = base
	}
	if c.maxWait == 0 {
		c.maxWait = DefaultMaxWait
	}
	if c.requestTimeout == 0 {
		c.requestTimeout = DefaultRequestTimeout
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.http = withoutRedirects(o.HTTP, o.RootCAs)
	return c, nil
}

// truststoreKey is the truststore's path in ssl-client.xml (FileBasedKeyStoresFactory).
const truststoreKey = "ssl.client.truststore.location"

// FromConf returns a client for the cluster that a Hadoop configuration describes. It reads
// from the configuration the ResourceManagers' addresses, the scheme (yarn.http.policy), the
// web proxy, and the truststore that ssl-client.xml names, which may be a PEM file. Fields
// that are set in o take precedence.
func FromConf(c *conf.Config, o Options) (*Client, error) {
	if o.Scheme == "" && c.HTTPSOnly() {
		o.Scheme = "https"
	}
	if len(o.Addresses) == 0 {
		addresses, err := c.ResourceManagers("yarn.resourcemanager.webapp.address")
		if err != nil {
			return nil, err
		}
		o.Addresses = addresses
	}
	if o.WebProxy == "" {
		o.WebProxy, _ = c.Get("yarn.web-proxy.address")
	}
	if o.Scheme == "https" && o.RootCAs == nil {
		roots, err := rootsOf(c)
		if err != nil {
			return nil, err
		}
		o.RootCAs = roots
	}
	return New(o)
}

// rootsOf returns the certificates in the truststore of a configuration, or nil if the
// configuration has no truststore.
func rootsOf(c *conf.Config) (*x509.CertPool, error) {
	path, _ := c.Get(truststoreKey)
	if path == "" {
		return nil, nil
	}
	roots, err := keystore.LoadTrusted(path, c.GetDefault("ssl.client.truststore.password", ""))
	if err != nil {
		return nil, fmt.Errorf("%w (%s is set in %s)", err, truststoreKey, c.Source(truststoreKey))
	}
	return roots, nil
}

// Transport returns the transport that a client from FromConf uses if Options.HTTP is nil. A
// caller can wrap the transport, for example to authenticate, and set Options.HTTP.
func Transport(c *conf.Config) (http.RoundTripper, error) {
	var roots *x509.CertPool
	if c.HTTPSOnly() {
		var err error
		if roots, err = rootsOf(c); err != nil {
			return nil, err
		}
	}
	return newTransport(roots), nil
}

// withoutRedirects returns a copy of c that does not follow redirects, because Client.call
// processes the redirects of a standby ResourceManager as a failover. If c is nil, it copies a
// default client that trusts roots.
func withoutRedirects(c *http.Client, roots *x509.CertPool) *http.Client {
	var own http.Client
	if c != nil {
		own = *c
	} else {
		own.Transport = newTransport(roots)
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

func newTransport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     30 * time.Second,
	}
}

// HasAnswered reports whether a ResourceManager has answered this client.
func (c *Client) HasAnswered() bool { return c.active.Load() != nil }

// CloseIdleConnections closes idle connections. Call it when the Client is no longer
// needed.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// baseURL normalizes an address to scheme://host:port.
func baseURL(scheme, address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = scheme + "://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("scheme %q is not http or https", u.Scheme)
	}
	if u.Hostname() == "" {
		return "", errors.New("there is no host in it")
	}
	return u.Scheme + "://" + u.Host, nil
}

package yarnrest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
)

// The first and the longest pause between rounds over all addresses.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
)

// maxAnswerBytes is the largest size of a response, in bytes. A list of a hundred thousand
// applications is smaller.
const maxAnswerBytes = 256 << 20

type restRequest struct {
	method string
	path   string // begins with a slash
	query  url.Values
	body   []byte // JSON, or nil
	accept string // accepted media type; "" means JSON
	// check returns an error if the response is from a standby; nil accepts all responses.
	check func(successResponse) error
}

// successResponse is a response with a success status.
type successResponse struct {
	url  string
	body []byte
}

// errStandby is the error of a request to a standby ResourceManager.
type errStandby struct {
	active string // base URL of the active ResourceManager if the standby sent it; otherwise ""
	text   string
}

func (e *errStandby) Error() string {
	if e.active != "" {
		return "is standby and names " + e.active + " as active"
	}
	if e.text != "" {
		return "is not active: " + e.text
	}
	return "is not active"
}

// call sends a request to the active ResourceManager. In each round it first tries the
// address that last answered as the active one, then all others. Between rounds it pauses. It
// stops when the active one answers, when the context ends, when MaxWait has passed, or when all
// errors of a round are permanent. It may repeat any request; this is safe because a second
// submission or kill of an application has no effect.
func (c *Client) call(ctx context.Context, r restRequest) (successResponse, error) {
	start := time.Now()
	var attempts []Attempt
	unavailable := func(ctxErr error) error {
		return &UnavailableError{Service: "ResourceManager", Attempts: attempts, Elapsed: time.Since(start), Context: ctxErr}
	}
	timeout := c.requestTimeout
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		queue := c.candidates()
		tried := map[string]bool{}
		hopeless := true
		for len(queue) > 0 {
			base := queue[0]
			queue = queue[1:]
			if tried[base] {
				continue
			}
			tried[base] = true
			a, err := c.attempt(ctx, timeout, base, r)
			if err == nil {
				if previous := c.active.Swap(&base); previous == nil || *previous != base {
					c.log.Info("using the active ResourceManager", "address", base)
				}
				return a, nil
			}
			var final *RemoteError
			if errors.As(err, &final) {
				c.active.Store(&base)
				return successResponse{}, err
			}
			var malformed *malformedError
			if errors.As(err, &malformed) {
				return successResponse{}, err
			}
			c.log.Debug("a ResourceManager did not answer", "address", base, "error", err)
			attempts = noteAttempt(attempts, base, err)
			if ctx.Err() != nil {
				return successResponse{}, unavailable(ctx.Err())
			}
			var standby *errStandby
			if errors.As(err, &standby) && standby.active != "" {
				queue = append([]string{standby.active}, queue...)
			}
			hopeless = hopeless && permanent(err)
		}
		left := c.maxWait - time.Since(start) - pause
		if hopeless || left <= 0 {
			return successResponse{}, unavailable(nil)
		}
		timeout = min(c.requestTimeout, left)
		select {
		case <-ctx.Done():
			return successResponse{}, unavailable(ctx.Err())
		case <-time.After(pause):
		}
	}
}

// candidates returns the addresses in the order in which call tries them.
func (c *Client) candidates() []string {
	active := c.active.Load()
	if active == nil {
		return append([]string(nil), c.addresses...)
	}
	list := []string{*active}
	for _, a := range c.addresses {
		if a != *active {
			list = append(list, a)
		}
	}
	return list
}

func noteAttempt(attempts []Attempt, base string, err error) []Attempt {
	for i := range attempts {
		if attempts[i].Address == base {
			attempts[i].Tries++
			attempts[i].Err = err
			return attempts
		}
	}
	return append(attempts, Attempt{Address: base, Tries: 1, Err: err})
}

// attempt sends a request to one ResourceManager. If its error is a *RemoteError or a
// *malformedError, Client.call fails. After any other error, Client.call may try the next
// address.
func (c *Client) attempt(ctx context.Context, timeout time.Duration, base string, r restRequest) (successResponse, error) {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	response, err := c.send(bounded, base, r)
	var body []byte
	if err == nil {
		body, err = readAll(response)
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		// Do not wrap DeadlineExceeded, because the caller's deadline has not passed.
		return successResponse{}, fmt.Errorf("gave no answer within %s", timeout.Round(time.Millisecond))
	}
	if err != nil {
		return successResponse{}, err
	}
	target := base + r.path
	c.log.Debug("answer", "method", r.method, "url", target, "status", response.StatusCode, "bytes", len(body))
	switch status := response.StatusCode; {
	case status >= 300 && status < 400:
		return successResponse{}, standbyRedirect(base, response, body)
	case status >= 200 && status < 300:
		if text := string(bytes.TrimSpace(body[:min(len(body), 512)])); isStandbyText(text) {
			return successResponse{}, &errStandby{text: plainText(text)}
		}
		a := successResponse{url: target, body: body}
		if r.check != nil {
			if err := r.check(a); err != nil {
				return successResponse{}, err
			}
		}
		return a, nil
	default:
		remote := remoteError(status, target, body)
		if remote.standby() {
			return successResponse{}, &errStandby{text: remote.Message}
		}
		starting := status == http.StatusServiceUnavailable || status == http.StatusBadGateway || status == http.StatusGatewayTimeout
		if starting && remote.Exception == "" {
			return successResponse{}, fmt.Errorf("HTTP %d: %s", status, remote.Message)
		}
		return successResponse{}, remote
	}
}

// send sends one request. It unwraps *url.Error, because callers add the address to the error.
func (c *Client) send(ctx context.Context, base string, r restRequest) (*http.Response, error) {
	query := url.Values{}
	for k, v := range r.query {
		query[k] = v
	}
	if c.user != "" {
		query.Set("user.name", c.user)
	}
	target := base + r.path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", cmp.Or(r.accept, "application/json"))
	// Requests other than GET need this header if
	// yarn.resourcemanager.webapp.rest-csrf.enabled is true.
	req.Header.Set("X-XSRF-Header", "bobbin")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		var untrusted x509.UnknownAuthorityError
		if errors.As(err, &untrusted) {
			err = fmt.Errorf("%w: name a truststore, or a PEM file, that has the authority's certificate in %s (ssl-client.xml)", err, truststoreKey)
		}
		return nil, err
	}
	return response, nil
}

func readAll(response *http.Response) (body []byte, err error) {
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err == nil && len(body) > maxAnswerBytes {
		err = fmt.Errorf("it is larger than %d MiB", maxAnswerBytes>>20)
	}
	return body, err
}

// standbyRedirect returns the error for a redirect. The sender is usually a standby
// (RMWebAppFilter, status 307). A standby that knows the address of the active ResourceManager
// sends it in the header Location. Any other standby sends no Location, but a Refresh header
// with its own URL.
func standbyRedirect(base string, response *http.Response, body []byte) error {
	location := response.Header.Get("Location")
	if location == "" {
		return &errStandby{text: plainText(string(body))}
	}
	u, err := url.Parse(location)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || !strings.HasPrefix(u.Path, "/ws/v1/") {
		return &RemoteError{Status: response.StatusCode, URL: base,
			Message: fmt.Sprintf("it redirects to %q, which is no ResourceManager's REST API", location)}
	}
	return &errStandby{active: u.Scheme + "://" + u.Host}
}

// isStandbyText reports whether text is the response that a standby's RMWebAppFilter sends
// with status 200.
func isStandbyText(text string) bool {
	return !strings.HasPrefix(text, "{") &&
		(strings.HasPrefix(text, "This is standby RM") || strings.Contains(text, "no active RM") || strings.Contains(text, "not find any active RM"))
}

// permanent reports whether a retry is useless after err: the host name does not exist, the
// certificate is not trusted, the server does not use TLS, or the KDC refuses a ticket for the
// server.
func permanent(err error) bool {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.IsNotFound
	}
	var (
		unverified *tls.CertificateVerificationError
		unknown    x509.UnknownAuthorityError
		hostname   x509.HostnameError
		notTLS     tls.RecordHeaderError
	)
	return kerberos.IsRefusal(err) || errors.As(err, &unverified) || errors.As(err, &unknown) || errors.As(err, &hostname) || errors.As(err, &notTLS) ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

package kerberos

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/spnego"
)

// authCookie is the cookie by which Hadoop's web servers recognize a user who has
// authenticated.
const authCookie = "hadoop.auth"

// RoundTripper returns an http.RoundTripper that sends requests with base. If a server requires
// authentication (SPNEGO), the RoundTripper sends the request again, with a ticket. A request
// with a body is sent again only if its GetBody is set.
func (c *Client) RoundTripper(base http.RoundTripper) http.RoundTripper {
	return &roundTripper{client: c, base: base, cookies: map[string]string{}}
}

type roundTripper struct {
	client *Client
	base   http.RoundTripper

	mu      sync.Mutex
	cookies map[string]string // values of authCookie, by scheme and host
}

// CloseIdleConnections closes the idle connections of r.base.
func (r *roundTripper) CloseIdleConnections() {
	if closer, ok := r.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// RoundTrip sends a request with the server's last authCookie. If the server requires
// authentication, RoundTrip sends the request again, with a ticket, unless its body can be read
// only once.
func (r *roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	server := request.URL.Scheme + "://" + request.URL.Host
	response, err := r.send(request, server, "")
	if err != nil || response.StatusCode != http.StatusUnauthorized || !negotiates(response.Header) ||
		request.Body != nil && request.Body != http.NoBody && request.GetBody == nil {
		return response, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that base can reuse the connection
	_ = response.Body.Close()
	token, err := r.client.negotiateToken(request.Context(), request.URL.Hostname())
	if err != nil {
		return nil, err
	}
	return r.send(request, server, "Negotiate "+base64.StdEncoding.EncodeToString(token))
}

// negotiates reports whether a server's answer requests SPNEGO.
func negotiates(header http.Header) bool {
	for _, value := range header.Values("WWW-Authenticate") {
		if scheme, _, _ := strings.Cut(strings.TrimSpace(value), " "); strings.EqualFold(strings.TrimSuffix(scheme, ","), "Negotiate") {
			return true
		}
	}
	return false
}

func (r *roundTripper) send(request *http.Request, server, authorization string) (*http.Response, error) {
	own := request.Clone(request.Context())
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		own.Body = body
	}
	r.mu.Lock()
	cookie := r.cookies[server]
	r.mu.Unlock()
	if authorization != "" {
		own.Header.Set("Authorization", authorization)
	} else if cookie != "" {
		own.Header.Add("Cookie", authCookie+"="+cookie)
	}
	response, err := r.base.RoundTrip(own)
	if err != nil {
		return nil, err
	}
	for _, c := range response.Cookies() {
		if c.Name == authCookie {
			r.mu.Lock()
			r.cookies[server] = c.Raw[len(authCookie)+1:]
			if end := strings.IndexByte(r.cookies[server], ';'); end >= 0 {
				r.cookies[server] = r.cookies[server][:end]
			}
			r.mu.Unlock()
		}
	}
	return response, nil
}

// negotiateToken returns a SPNEGO token for the web server on host. If the KDC does not know
// the principal HTTP/host, negotiateToken tries the other names that DNS has for host.
func (c *Client) negotiateToken(ctx context.Context, host string) ([]byte, error) {
	_, token, err := c.NewContext(ctx, "HTTP/"+strings.ToLower(host))
	if unknownService(err) {
		names := c.canonicalNames(ctx, host)
		tried := []string{"HTTP/" + strings.ToLower(host)}
		for _, name := range names {
			service := withHost("HTTP/"+hostPattern, name)
			if slices.Contains(tried, service) {
				continue
			}
			tried = append(tried, service)
			if _, other, otherErr := c.NewContext(ctx, service); otherErr == nil {
				token, err = other, nil
				break
			}
		}
		if err != nil {
			err = fmt.Errorf("%w; tried %s, as DNS names the host %s", err, strings.Join(tried, ", "), cmp.Or(strings.Join(names, ", "), "nothing else"))
		}
	}
	if err != nil {
		return nil, err
	}
	wrapped := spnego.SPNEGOToken{Init: true, NegTokenInit: spnego.NegTokenInit{
		MechTypes: []asn1.ObjectIdentifier{gssapi.OIDKRB5.OID()}, MechTokenBytes: token,
	}}
	encoded, err := wrapped.Marshal()
	if err != nil {
		return nil, fmt.Errorf("kerberos: a token for the web server on %s: %w", host, err)
	}
	return encoded, nil
}

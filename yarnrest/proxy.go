package yarnrest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Proxy requests a page of an application's web server through the cluster's web application
// proxy (yarn.web-proxy.address, by default the ResourceManager). path is the page's path on
// the application's web server, such as "/status". If the application has no web server, the
// proxy redirects the request to another page, and Proxy fails.
func (c *Client) Proxy(ctx context.Context, applicationID, path string) ([]byte, error) {
	return c.ProxyQuery(ctx, applicationID, path, nil, c.requestTimeout)
}

// ProxyQuery is like Proxy, but sends a query, and uses timeout instead of
// Options.RequestTimeout.
func (c *Client) ProxyQuery(ctx context.Context, applicationID, path string, query url.Values, timeout time.Duration) ([]byte, error) {
	base := c.webProxy
	if base == "" {
		active, err := c.activeBase(ctx)
		if err != nil {
			return nil, err
		}
		base = active
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	full := pathOf("/proxy", applicationID) + "/" + strings.TrimPrefix(path, "/")
	response, err := c.send(ctx, base, restRequest{method: http.MethodGet, path: full, query: query, accept: "*/*"})
	if err != nil {
		return nil, fmt.Errorf("asking the web proxy %s: %w", base, err)
	}
	body, err := readAll(response)
	if err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", base+full, err)
	}
	if location := response.Header.Get("Location"); location != "" && response.StatusCode >= 300 && response.StatusCode < 400 {
		return nil, &RemoteError{Status: response.StatusCode, URL: base + full,
			Message: fmt.Sprintf("the application serves no page here: the proxy redirects to %s", location)}
	}
	if response.StatusCode < 200 || response.StatusCode >= 300 {
		return nil, remoteError(response.StatusCode, base+full, body)
	}
	return body, nil
}

// activeBase returns the base URL of the active ResourceManager. ProxyQuery uses it because
// the web proxy of a standby does not redirect to the active ResourceManager.
func (c *Client) activeBase(ctx context.Context) (string, error) {
	if active := c.active.Load(); active != nil {
		return *active, nil
	}
	if _, err := c.ClusterInfo(ctx); err != nil {
		return "", err
	}
	return *c.active.Load(), nil
}

package yarnrest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const nodePath = "/ws/v1/node"

// maxRedirects is the largest number of redirects that a request to a NodeManager follows.
// Normally there is at most one redirect, to a log server.
const maxRedirects = 3

// NodeManager is a client of one NodeManager's REST API. It is safe for concurrent use.
type NodeManager struct {
	client *Client
	base   string
}

// NodeManager returns a client of the NodeManager with the given HTTP address, "host:port",
// which [Node], [ApplicationAttempt] and [Container] contain. The client uses the user, scheme
// and HTTP client of c.
func (c *Client) NodeManager(httpAddress string) (*NodeManager, error) {
	base, err := baseURL(c.scheme, httpAddress)
	if err != nil {
		return nil, fmt.Errorf("address %q of a NodeManager: %w", httpAddress, err)
	}
	return &NodeManager{client: c, base: base}, nil
}

// trimScheme returns the host:port of an address, which may be a URL.
func trimScheme(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		return rest
	}
	return address
}

// NodeContainer is a container, as its NodeManager reports it.
type NodeContainer struct {
	ID          string
	State       string // "NEW", "LOCALIZING", "RUNNING", "EXITED_WITH_FAILURE", "DONE", …
	ExitCode    int
	Diagnostics string
	User        string
	MemoryMB    int64
	VCores      int64
	NodeID      string
	LogFiles    []string
}

func decodeNodeContainer(n jsonValue) NodeContainer {
	return NodeContainer{
		ID:          n.at("id").text(),
		State:       n.at("state").text(),
		ExitCode:    n.at("exitCode").int(),
		Diagnostics: n.at("diagnostics").text(),
		User:        n.at("user").text(),
		MemoryMB:    n.at("totalMemoryNeededMB").int64(),
		VCores:      n.at("totalVCoresNeeded").int64(),
		NodeID:      n.at("nodeId").text(),
		LogFiles:    n.at("containerLogFiles").strings(),
	}
}

// Containers returns the containers that the NodeManager lists: those that run, and some that
// have ended recently.
func (n *NodeManager) Containers(ctx context.Context) ([]NodeContainer, error) {
	_, root, err := n.get(ctx, pathOf(nodePath, "containers"))
	if err != nil {
		return nil, err
	}
	var containers []NodeContainer
	for _, e := range root.at("containers", "container").list() {
		containers = append(containers, decodeNodeContainer(e))
	}
	return containers, nil
}

// HasApplication reports whether the NodeManager lists an application. A NodeManager lists an
// application from the start of its first container on the node until the logs of its
// containers on the node are aggregated.
func (n *NodeManager) HasApplication(ctx context.Context, id string) (bool, error) {
	_, _, err := n.get(ctx, pathOf(nodePath, "apps", id))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Container returns a container. It fails with ErrNotFound if the NodeManager does not know
// the id.
func (n *NodeManager) Container(ctx context.Context, id string) (*NodeContainer, error) {
	a, root, err := n.get(ctx, pathOf(nodePath, "containers", id))
	if err != nil {
		return nil, err
	}
	e := root.at("container")
	if !e.at("id").present() {
		return nil, a.missingPart("container")
	}
	c := decodeNodeContainer(e)
	return &c, nil
}

// get requests a path whose response is a JSON object.
func (n *NodeManager) get(ctx context.Context, path string) (successResponse, jsonValue, error) {
	a, err := n.fetch(ctx, path)
	if err != nil {
		return successResponse{}, jsonValue{}, err
	}
	root, err := a.json()
	return a, root, err
}

// fetch requests a path and reads the whole response.
func (n *NodeManager) fetch(ctx context.Context, path string) (successResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, n.client.requestTimeout)
	defer cancel()
	response, err := n.open(ctx, restRequest{method: http.MethodGet, path: path})
	if err != nil {
		return successResponse{}, err
	}
	a := successResponse{url: n.base + path}
	if a.body, err = readAll(response); err != nil {
		return successResponse{}, fmt.Errorf("reading the answer of %s: %w", a.url, err)
	}
	return a, nil
}

// open sends a GET request and follows redirects, for example to a log server. For a response
// with an error status it returns a *RemoteError.
func (n *NodeManager) open(ctx context.Context, r restRequest) (*http.Response, error) {
	start, base := time.Now(), n.base
	for range maxRedirects + 1 {
		response, err := n.client.send(ctx, base, r)
		if err != nil {
			return nil, &UnavailableError{Service: "NodeManager", Elapsed: time.Since(start), Context: ctx.Err(),
				Attempts: []Attempt{{Address: base, Tries: 1, Err: err}}}
		}
		if response.StatusCode >= 200 && response.StatusCode < 300 {
			return response, nil
		}
		requested := base + r.path
		body, err := readAll(response)
		if err != nil {
			return nil, fmt.Errorf("reading the answer of %s: %w", requested, err)
		}
		location := response.Header.Get("Location")
		if response.StatusCode < 300 || response.StatusCode >= 400 || location == "" {
			return nil, remoteError(response.StatusCode, requested, body)
		}
		target, err := url.Parse(location)
		if err == nil && target.Host != "" {
			base = target.Scheme + "://" + target.Host
		}
		if err != nil || (target.Host != "" && target.Scheme != "http" && target.Scheme != "https") {
			return nil, &RemoteError{Status: response.StatusCode, URL: requested, Message: fmt.Sprintf("it redirects to %q", location)}
		}
		r.path, r.query = target.EscapedPath(), target.Query()
	}
	return nil, &RemoteError{Status: http.StatusLoopDetected, URL: base + r.path, Message: fmt.Sprintf("it redirects more than %d times", maxRedirects)}
}

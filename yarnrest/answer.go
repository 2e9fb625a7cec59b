package yarnrest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// malformedError is the error for a response with a success status whose content is not what
// the API defines.
type malformedError struct {
	url   string
	cause error
}

func (e *malformedError) Error() string {
	return fmt.Sprintf("unexpected answer of %s: %v (is it the web address of a Hadoop daemon?)", e.url, e.cause)
}

func (e *malformedError) Unwrap() error { return e.cause }

// parse parses the response as JSON.
func (a successResponse) parse() (jsonValue, error) {
	root, err := parseJSON(a.body)
	if err != nil {
		start := plainText(string(a.body[:min(len(a.body), 200)]))
		return jsonValue{}, &malformedError{a.url, fmt.Errorf("it is not JSON: %w; it begins %q", err, start)}
	}
	return root, nil
}

// json parses the response, which must be a JSON object.
func (a successResponse) json() (jsonValue, error) {
	root, err := a.parse()
	if err != nil {
		return jsonValue{}, err
	}
	if _, ok := root.value.(map[string]any); !ok {
		return jsonValue{}, &malformedError{a.url, errors.New("it is no JSON object")}
	}
	return root, nil
}

// missingPart returns the error for a response that lacks a required part.
func (a successResponse) missingPart(part string) error {
	return &malformedError{a.url, fmt.Errorf("there is no %s in it", part)}
}

// get requests a JSON object from the ResourceManager.
func (c *Client) get(ctx context.Context, path string, query url.Values) (successResponse, jsonValue, error) {
	a, err := c.call(ctx, restRequest{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return successResponse{}, jsonValue{}, err
	}
	root, err := a.json()
	return a, root, err
}

// sendJSON sends value as JSON to the ResourceManager.
func (c *Client) sendJSON(ctx context.Context, method, path string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding the request: %w", err)
	}
	_, err = c.call(ctx, restRequest{method: method, path: path, body: body})
	return err
}

// pathOf returns an API path: prefix, followed by the escaped segments.
func pathOf(prefix string, segments ...string) string {
	for _, s := range segments {
		prefix += "/" + url.PathEscape(s)
	}
	return prefix
}

package profiling

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequestsForProfiles(t *testing.T) {
	handler := Handler(func(_ context.Context, request Request) ([]byte, error) {
		if request.Executor == "9" {
			return nil, errors.New("executor 9 is not registered")
		}
		return fmt.Append(nil, request), nil
	})
	for query, want := range map[string]struct {
		status int
		body   string
	}{
		"type=cpu&seconds=30":                  {http.StatusOK, "{cpu 30s  0 false}"},
		"type=heap&seconds=1&executor=3":       {http.StatusOK, "{heap 1s 3 0 false}"},
		"type=block&seconds=1&driver=true":     {http.StatusOK, "{block 1s  0 true}"},
		"type=cpu&seconds=9&job=12":            {http.StatusOK, "{cpu 9s  12 false}"},
		"type=cpu&seconds=9&job=x":             {http.StatusBadRequest, "job=\"x\": want the number of a job\n"},
		"type=cpu&seconds=9&job=1&driver=true": {http.StatusBadRequest, "want one of executor, job and driver\n"},
		"type=heap&seconds=1&executor=9":       {http.StatusServiceUnavailable, "executor 9 is not registered\n"},
		"type=cpu&seconds=31":                  {http.StatusBadRequest, "a profile over 31s: want 1s to 30s\n"},
		"type=cmdline&seconds=3&executor=1":    {http.StatusBadRequest, "\"cmdline\" is no type of profile: want one of cpu, heap, goroutine, mutex, block\n"},
		"type=cpu":                             {http.StatusBadRequest, "seconds=\"\": want a whole number\n"},
	} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/"+Path+"?"+query, nil))
		require.Equal(t, want.status, answer.Code, query)
		require.Equal(t, want.body, answer.Body.String(), query)
		if want.status == http.StatusOK {
			values, err := url.ParseQuery(query)
			require.NoError(t, err)
			request, err := ParseRequest(values)
			require.NoError(t, err)
			require.Equal(t, values, request.Values())
		}
	}
}

package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
)

func TestRequestsForProfiles(t *testing.T) {
	handler := serveProfile(func(_ context.Context, request driver.ProfileRequest) ([]byte, error) {
		if request.Executor == "9" {
			return nil, errors.New("executor 9 is not registered")
		}
		return fmt.Append(nil, request), nil
	})
	for query, want := range map[string]struct {
		status int
		body   string
	}{
		"type=cpu&seconds=30":               {http.StatusOK, "{cpu 30s  false}"},
		"type=heap&seconds=1&executor=3":    {http.StatusOK, "{heap 1s 3 false}"},
		"type=block&seconds=1&driver=true":  {http.StatusOK, "{block 1s  true}"},
		"type=heap&seconds=1&executor=9":    {http.StatusServiceUnavailable, "executor 9 is not registered\n"},
		"type=cpu&seconds=31":               {http.StatusBadRequest, "a profile over 31s: want 1s to 30s\n"},
		"type=cmdline&seconds=3&executor=1": {http.StatusBadRequest, "\"cmdline\" is no type of profile: want one of cpu, heap, goroutine, mutex, block\n"},
		"type=cpu":                          {http.StatusBadRequest, "seconds=\"\": want a whole number\n"},
	} {
		answer := httptest.NewRecorder()
		handler(answer, httptest.NewRequest(http.MethodGet, "/"+ProfilePath+"?"+query, nil))
		require.Equal(t, want.status, answer.Code, query)
		require.Equal(t, want.body, answer.Body.String(), query)
	}
}

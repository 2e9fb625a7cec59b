package yarnrest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSetLifetime(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	sent := ""
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws/v1/cluster/apps/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != appID {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, `{"app":{"id":"`+appID+`","state":"RUNNING","startedTime":1767323045678}}`)
	})
	mux.HandleFunc("PUT /ws/v1/cluster/apps/"+appID+"/timeout", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c := client(t, Options{}, s.URL)
	require.NoError(t, c.SetLifetime(context.Background(), appID, 90*time.Second))
	require.Contains(t, sent, `"type":"LIFETIME"`)
	expires := began.Add(90 * time.Second).Local().Format("2006-01-02T15:04:05.000-0700")
	require.Contains(t, sent, `"expiryTime":"`+expires+`"`, "by the ResourceManager's clock")

	err := c.SetLifetime(context.Background(), "application_1_0009", time.Second)
	require.True(t, errors.Is(err, ErrNotFound), err)
}

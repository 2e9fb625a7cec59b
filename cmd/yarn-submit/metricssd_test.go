package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
)

// locked is a buffer with a mutex, for use by several goroutines.
type locked struct {
	sync.Mutex
	bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(p)
}

func (l *locked) text() string {
	l.Lock()
	defer l.Unlock()
	return l.String()
}

func TestTargetsAreServedUntilTheEnd(t *testing.T) {
	said := &locked{}
	want := []client.MetricTarget{{Targets: []string{"rm:8088"}, Labels: map[string]string{"user": "ann"}}}
	var failure error
	ctx, interrupt := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		ended <- serveTargets(ctx, terminal{console: client.NewConsole(said)}, "127.0.0.1:0",
			func(context.Context) ([]client.MetricTarget, error) { return want, failure })
	}()
	var url string
	require.Eventually(t, func() bool {
		url = regexp.MustCompile(`http://\S+`).FindString(said.text())
		return url != ""
	}, 10*time.Second, time.Millisecond)
	get := func() *http.Response {
		t.Helper()
		response, err := http.Get(url)
		require.NoError(t, err)
		return response
	}
	response := get()
	require.Equal(t, "application/json", response.Header.Get("Content-Type"))
	var got []client.MetricTarget
	require.NoError(t, json.NewDecoder(response.Body).Decode(&got))
	require.NoError(t, response.Body.Close())
	require.Equal(t, want, got)

	failure = errors.New("no ResourceManager answers")
	response = get()
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, "Prometheus keeps its last list")

	over := errors.New("over")
	interrupt(over)
	require.ErrorIs(t, <-ended, over)
	require.ErrorContains(t, serveTargets(t.Context(), terminal{console: client.NewConsole(said)}, "nowhere", nil), "--listen nowhere")
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

func TestAWorkerWaitsForTheSecretThatItsMasterMakes(t *testing.T) {
	for _, test := range []struct {
		name    string
		there   time.Duration // time from the start of the wait until the secret exists
		other   error         // an error that is not about a missing secret
		took    time.Duration
		problem string
	}{
		{"there", 0, nil, 0, ""},
		{"soon", time.Second, nil, time.Second, ""},
		{"never", time.Hour, nil, secretTimeout + secretPause, "no secret of a standalone cluster was found"},
		{"unreadable", 0, errors.New("can be read by others"), 0, "can be read by others"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := awaitSecret(t.Context(), func() (*protocol.Credentials, error) {
					switch {
					case test.other != nil:
						return nil, test.other
					case time.Since(began) < test.there:
						return nil, fmt.Errorf("%w: it is not there", protocol.ErrNoSecret)
					}
					return &protocol.Credentials{}, nil
				}, slog.New(slog.DiscardHandler))
				require.Equal(t, test.took, time.Since(began))
				if test.problem != "" {
					require.ErrorContains(t, err, test.problem)
					return
				}
				require.NoError(t, err)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := awaitSecret(ctx, func() (*protocol.Credentials, error) { return nil, protocol.ErrNoSecret }, slog.New(slog.DiscardHandler))
		require.ErrorIs(t, err, protocol.ErrNoSecret)
	})
}

func TestWrongUsageOfWorker(t *testing.T) {
	for _, test := range []struct {
		args    []string
		problem string
	}{
		{nil, "want bobbin://HOST"},
		{[]string{"127.0.0.1"}, "it does not begin with bobbin://"},
		{[]string{"bobbin://h", "--cores", "0"}, "worker.cores"},
		{[]string{"bobbin://h", "--cores", "many"}, "want a whole number"},
		{[]string{"bobbin://h", "--memory", "2x"}, "worker.memory"},
		{[]string{"bobbin://h", "--web-port", "70000"}, "--web-port 70000: want 0 to 65535"},
		{[]string{"bobbin://h", "--conf", "worker.resource.gpu=2"}, "worker.resource.gpu"},
		{[]string{"bobbin://h", "--conf", "worker.cleanup.interval=0"}, "want 1ms or more"},
		{[]string{"bobbin://h", "--core", "2"}, "unknown flag --core, did you mean --cores?"},
	} {
		var said bytes.Buffer
		status := execute(append([]string{"worker"}, test.args...), io.Discard, &said)
		require.Equal(t, client.ExitUsage, status, test.args)
		require.Contains(t, said.String(), test.problem)
	}
}

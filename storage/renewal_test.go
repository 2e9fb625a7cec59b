package storage

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

func TestRenewalAtThreeQuartersOfTheLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var asked, published []time.Duration
		failures := 0
		renewal := &Renewal{Logger: slog.New(slog.DiscardHandler)}
		renewal.obtain = func(context.Context) (*Tokens, error) {
			asked = append(asked, time.Since(began))
			if failures > 0 {
				failures--
				return nil, errors.New("no KDC answers")
			}
			return &Tokens{Credentials: tokensOf("x"), Renew: time.Now().Add(75 * time.Second), End: time.Now().Add(100 * time.Second)}, nil
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			renewal.Run(ctx, nil, func(*security.Credentials) {
				published = append(published, time.Since(began))
				if len(published) == 2 {
					failures = 3
				}
			})
		}()
		time.Sleep(240 * time.Second)
		cancel()
		<-done
		const s = time.Second
		require.Equal(t, []time.Duration{0, 75 * s, 150 * s, 151 * s, 153 * s, 157 * s, 232 * s}, asked)
		require.Equal(t, []time.Duration{0, 75 * s, 157 * s, 232 * s}, published)

		// There are current tokens, and the NameNodes issue no more.
		current := &Tokens{Renew: time.Now().Add(s)}
		began, asked = time.Now(), nil
		renewal.obtain = func(context.Context) (*Tokens, error) {
			asked = append(asked, time.Since(began))
			return nil, nil
		}
		renewal.Run(t.Context(), current, func(*security.Credentials) { t.Error("there are no tokens") })
		require.Equal(t, []time.Duration{s}, asked)
	})
}

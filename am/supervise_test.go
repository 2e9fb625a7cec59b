package am

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDriverFunctionMustCreateItsSessionInTime(t *testing.T) {
	wrong := errors.New("it went wrong")
	for name, test := range map[string]struct {
		run  func(ctx context.Context, created func()) error
		want error
		code int
		took time.Duration
	}{
		"in time": {func(_ context.Context, created func()) error {
			time.Sleep(9 * time.Second)
			created()
			created() // a second session
			time.Sleep(time.Hour)
			return nil
		}, nil, 0, time.Hour + 9*time.Second},
		"never, but it is done": {func(context.Context, func()) error {
			time.Sleep(9 * time.Second)
			return wrong
		}, wrong, ExitUserFunction, 9 * time.Second},
		"never": {func(ctx context.Context, _ func()) error {
			<-ctx.Done()
			return nil
		}, &noSession{10 * time.Second}, ExitSessionNotCreated, 10 * time.Second},
		"never, and it does not listen at once": {func(ctx context.Context, _ func()) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return context.Cause(ctx)
		}, &noSession{10 * time.Second}, ExitSessionNotCreated, 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := Supervise(t.Context(), 10*time.Second, test.run)
				require.Equal(t, test.want, err)
				require.Equal(t, test.took, time.Since(began))
				if err != nil {
					err = &userFunction{err}
				}
				require.Equal(t, test.code, outcomeOf(err).code)
			})
		})
	}
}

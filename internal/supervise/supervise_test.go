package supervise

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// waitForAbandoned waits until functions for which Run no longer waits have returned, because
// synctest requires that all goroutines end.
func waitForAbandoned() { time.Sleep(2 * time.Hour) }

func TestDriverFunctionMustCreateItsSessionInTime(t *testing.T) {
	failed := errors.New("failed")
	noSession := &NoSessionError{10 * time.Second}
	for name, test := range map[string]struct {
		function func(ctx context.Context, created func()) error
		want     error
		took     time.Duration
	}{
		"in time": {func(_ context.Context, created func()) error {
			time.Sleep(9 * time.Second)
			created()
			created() // the function creates a second session
			created()
			time.Sleep(time.Hour)
			return nil
		}, nil, time.Hour + 9*time.Second},
		"it returns before": {func(context.Context, func()) error {
			time.Sleep(9 * time.Second)
			return failed
		}, failed, 9 * time.Second},
		"never": {func(ctx context.Context, _ func()) error {
			<-ctx.Done()
			return nil
		}, noSession, 10 * time.Second},
		"never, and it returns late": {func(ctx context.Context, _ func()) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return context.Cause(ctx)
		}, noSession, 11 * time.Second},
		"never, and it does not return": {func(context.Context, func()) error {
			time.Sleep(time.Hour)
			return nil
		}, &NotReturnedError{Cause: noSession}, 10*time.Second + ReturnTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(waitForAbandoned)
				began := time.Now()
				err := Run(t.Context(), t.Context(), 10*time.Second, test.function)
				if abandoned := (*NotReturnedError)(nil); errors.As(err, &abandoned) {
					abandoned.Returned = nil
				}
				require.Equal(t, test.want, err)
				require.Equal(t, test.took, time.Since(began))
			})
		})
	}
}

func TestDriverFunctionEndsWithItsApplication(t *testing.T) {
	removed, own := errors.New("removed"), errors.New("its own")
	for name, test := range map[string]struct {
		function func(ctx context.Context) error
		want     error
	}{
		"it returns the cause": {func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, removed},
		"it returns its own error": {func(ctx context.Context) error {
			<-ctx.Done()
			return own
		}, own},
		"it returns no error": {func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			application, end := context.WithCancelCause(t.Context())
			err := Run(t.Context(), application, 0, func(ctx context.Context, _ func()) error {
				end(removed)
				return test.function(ctx)
			})
			require.Equal(t, test.want, err)
		})
	}
}

func TestDriverFunctionThatIgnoresItsContextIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(waitForAbandoned)
		removed, own := errors.New("removed"), errors.New("its own")
		application, end := context.WithCancelCause(t.Context())
		end(removed)
		err := Run(t.Context(), application, 0, func(context.Context, func()) error {
			time.Sleep(time.Hour)
			return own
		})
		var abandoned *NotReturnedError
		require.ErrorAs(t, err, &abandoned)
		require.ErrorIs(t, err, removed)
		require.Equal(t, own, <-abandoned.Returned)
	})
}

func TestDriverFunctionMayTakeItsTimeToStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		interrupted := errors.New("interrupted")
		ctx, interrupt := context.WithCancelCause(t.Context())
		interrupt(interrupted)
		began := time.Now()
		err := Run(ctx, t.Context(), 0, func(ctx context.Context, _ func()) error {
			<-ctx.Done()
			time.Sleep(time.Hour)
			return context.Cause(ctx)
		})
		require.Equal(t, interrupted, err)
		require.Equal(t, time.Hour, time.Since(began))
	})
}

func TestPanicsAreErrors(t *testing.T) {
	err := Run(t.Context(), t.Context(), 0, func(context.Context, func()) error { panic("at the disco") })
	require.ErrorContains(t, err, "panic: at the disco\n")
	require.ErrorContains(t, err, "supervise_test.go")
	err = Run(t.Context(), t.Context(), 0, func(context.Context, func()) error {
		runtime.Goexit()
		return nil
	})
	require.ErrorContains(t, err, "runtime.Goexit")
}

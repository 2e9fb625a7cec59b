package bobbin

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// endedBy is an application that its master ends.
type endedBy struct {
	over chan struct{}
	err  error
}

func (e *endedBy) Over() <-chan struct{} { return e.over }
func (e *endedBy) Err() error            { return e.err }

func TestADriverFunctionEndsWithItsApplication(t *testing.T) {
	removed, own := errors.New("removed"), errors.New("its own")
	for name, test := range map[string]struct {
		function func(ctx context.Context, end func()) error
		want     []error
	}{
		"it returns before": {func(context.Context, func()) error { return own }, []error{own}},
		"it heeds its context": {func(ctx context.Context, end func()) error {
			end()
			<-ctx.Done()
			return errors.Join(own, context.Cause(ctx))
		}, []error{removed, own}},
		"it does not say that it was cut short": {func(ctx context.Context, end func()) error {
			end()
			<-ctx.Done()
			return nil
		}, []error{removed}},
	} {
		t.Run(name, func(t *testing.T) {
			manager := &endedBy{over: make(chan struct{})}
			err := untilOver(t.Context(), manager, func(ctx context.Context) error {
				return test.function(ctx, func() {
					manager.err = removed
					close(manager.over)
				})
			})
			for _, want := range test.want {
				require.ErrorIs(t, err, want)
			}
		})
	}
}

func TestADriverFunctionThatDoesNotHeedItsContextIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		removed := errors.New("removed")
		manager := &endedBy{over: make(chan struct{}), err: removed}
		close(manager.over)
		last := make(chan struct{})
		defer close(last)
		require.ErrorIs(t, untilOver(t.Context(), manager, func(context.Context) error {
			<-last
			return nil
		}), removed)
	})
}

func TestEveryMasterIsKnownByItsURL(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	logger := slog.New(slog.DiscardHandler)
	read := func(set map[string]string) (master, error) {
		settings, err := config.FromMap(set)
		require.NoError(t, err)
		return newMaster(settings, logger)
	}
	got, err := read(map[string]string{"master": "bobbin://one,two:7", "authenticate.secret": "0123456789abcdef"})
	require.NoError(t, err)
	require.Equal(t, []string{"one:7077", "two:7"}, got.(*standalone).masters)
	require.False(t, got.(*standalone).settings.IsSet(config.AuthenticateSecret.Name()), "executors get these settings")

	got, err = read(map[string]string{"master": "local-cluster[3,2,512]"})
	require.NoError(t, err)
	require.Equal(t, 3, got.(*localCluster).url.workers)

	got, err = read(nil)
	require.NoError(t, err)
	require.IsType(t, &local{}, got)

	_, err = read(map[string]string{"master": "bobbin://one"})
	require.ErrorIs(t, err, protocol.ErrNoSecret)
	_, err = read(map[string]string{"master": "bobbin://"})
	require.ErrorContains(t, err, "it names no host")
	_, err = read(map[string]string{"master": "mesos://one"})
	require.ErrorContains(t, err, "bobbin://host:port")
}

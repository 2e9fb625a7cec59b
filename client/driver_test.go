package client

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/allocation"
)

func TestTheEndOfAnOwnDriver(t *testing.T) {
	d, err := driver.New(driver.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Stop(t.Context())) }()
	over, stop := context.WithCancel(t.Context())
	stop()
	failure := errors.New("it failed")
	for want, test := range map[string]struct {
		ctx     context.Context
		failure error
	}{
		"SUCCEEDED": {t.Context(), nil}, "FAILED": {t.Context(), failure}, "KILLED": {over, failure},
	} {
		out := &bytes.Buffer{}
		own := InProcessDriver{Console: NewConsole(out), ID: "local-1", Driver: d}
		require.Equal(t, test.failure, own.Follow(test.ctx, func() error { return test.failure }))
		require.Contains(t, out.String(), "local-1 "+want+" after 0.")
		require.Contains(t, out.String(), "  tasks      0 in 0 task sets\n")
		require.NotContains(t, out.String(), "executors")
	}
}

func TestThePagesOfAnOwnDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := driver.New(driver.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, d.Stop(context.Background())) }()
		for runs, lines := range map[time.Duration]int{0: 0, time.Minute: 1} {
			out := &bytes.Buffer{}
			own := InProcessDriver{Console: NewConsole(out), ID: "local-1", Driver: d, Pages: "http://127.0.0.1:1/x/"}
			require.NoError(t, own.Follow(t.Context(), func() error { time.Sleep(runs); return nil }))
			require.Equal(t, lines, strings.Count(out.String(), "pages: http://127.0.0.1:1/x/\n"))
		}
	})
}

func TestWantedExecutorsAreNumbersForPeople(t *testing.T) {
	status := driver.Status{Totals: driver.Totals{Executors: 3}, Profiles: []driver.ProfileStatus{{Wanted: 4}, {ID: 1, Wanted: 1}}}
	require.Equal(t, 5, wanted(status))
	status.Profiles[0].Wanted = allocation.Unbounded
	require.Equal(t, 3, wanted(status), "a standalone cluster starts as many as it can")
}

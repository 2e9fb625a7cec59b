package etcd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
	"github.com/bobbin-yarn/bobbin/standalone/recovery/etcdtest"
	"github.com/bobbin-yarn/bobbin/standalone/recovery/recoverytest"
)

// Most tests wait for timeouts, so run more tests at a time than there are CPUs.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	leaktest.Main(m)
}

const (
	// lease is short, for tests that wait until it expires.
	lease = 3 * time.Second
	// longLease does not expire during a test, even on a busy machine.
	longLease   = time.Minute
	waitTimeout = time.Minute
)

func options(t *testing.T, server *etcdtest.Server, directory string) Options {
	return Options{
		Endpoints: []string{server.Endpoint}, Directory: directory, Lease: longLease,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func open(t *testing.T, o Options) recovery.Backend {
	backend, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, backend.Close()) })
	return backend
}

func lead(t *testing.T, backend recovery.Backend) recovery.Term {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	term, err := backend.Campaign(ctx, "bobbin://"+t.Name())
	require.NoError(t, err)
	return term
}

func over(t *testing.T, term recovery.Term) {
	t.Helper()
	select {
	case <-term.Lost():
	case <-time.After(waitTimeout):
		t.Fatal("the term is not over")
	}
}

var app = recovery.Record{Kind: "app", ID: "1", Data: []byte("state")}

func TestConformance(t *testing.T) {
	t.Parallel()
	server, places := etcdtest.Start(t), 0
	recoverytest.Run(t, func(t *testing.T) recoverytest.Store {
		places++
		o := options(t, server, fmt.Sprintf("/test/%d", places))
		return recoverytest.Store{
			Open:       func() (recovery.Backend, error) { return Open(t.Context(), o) },
			Persistent: true, Shared: true,
			Damage: func(t *testing.T, kind, id string, change func([]byte) []byte) {
				key := o.Directory + "/state/" + kind + "/" + id
				got, err := server.Client().Get(t.Context(), key)
				require.NoError(t, err)
				_, err = server.Client().Put(t.Context(), key, string(change(got.Kvs[0].Value)))
				require.NoError(t, err)
			},
		}
	})
}

func TestATermEndsWithItsKey(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	o := options(t, server, "bobbin") // Open adds the missing slash to Directory
	first, second := open(t, o), open(t, o)
	term := lead(t, first)
	require.NoError(t, term.Write(t.Context(), app))
	_, err := server.Client().Delete(t.Context(), "/bobbin/leader/", clientv3.WithPrefix())
	require.NoError(t, err)
	over(t, term)
	next := lead(t, second)
	assert.ErrorIs(t, term.Write(t.Context(), app), recovery.ErrLost)
	loaded, err := next.Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []recovery.Record{app}, loaded)
	assert.NoError(t, next.Write(t.Context(), app))
}

// In TestAWriteOfAnOldLeaderHasNoEffect a leader writes after another one was elected, of
// which it has not learned yet.
func TestAWriteOfAnOldLeaderHasNoEffect(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	o := options(t, server, "/bobbin")
	old := lead(t, open(t, o)).(*term)
	require.NoError(t, old.Write(t.Context(), app))
	_, err := server.Client().Delete(t.Context(), old.key)
	require.NoError(t, err)
	over(t, old)
	unknowing := &term{backend: old.backend, key: old.key, revision: old.revision, lost: make(chan struct{}), stop: func(error) {}}
	late := recovery.Record{Kind: app.Kind, ID: app.ID, Data: []byte("late")}
	assert.ErrorIs(t, unknowing.Write(t.Context(), late), recovery.ErrLost)
	over(t, unknowing)
	loaded, err := lead(t, open(t, o)).Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []recovery.Record{app}, loaded)
}

func TestADisconnectedLeaderStopsInTime(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	o := options(t, server, "/bobbin")
	o.Lease = lease
	backend := open(t, o)
	leading := lead(t, backend)
	resume := server.Pause(t)
	defer resume()
	paused := time.Now()
	over(t, leading)
	assert.Less(t, time.Since(paused), 2*lease, "no later than the lease may run out, and what a busy machine adds to it")
	resume()
	// After the outage, all records still exist.
	again := lead(t, backend)
	assert.Greater(t, again.Number(), leading.Number())
	assert.NoError(t, again.Write(t.Context(), app))
}

func TestCampaignSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	o := options(t, server, "/bobbin")
	o.Lease = lease
	backend, standby := open(t, o), open(t, o)
	term := lead(t, backend)
	require.NoError(t, term.Write(t.Context(), app))
	standing := make(chan recovery.Term, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		next, err := standby.Campaign(ctx, "bobbin://standby")
		standing <- next
		ended <- err
	}()
	require.Eventually(t, func() bool { return standby.Leader() == "bobbin://"+t.Name() }, waitTimeout, time.Millisecond)
	server.Kill()
	over(t, term)
	server.Run(t)
	next := <-standing
	require.NoError(t, <-ended)
	defer cancel()
	loaded, err := next.Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []recovery.Record{app}, loaded)
}

func TestARestartShorterThanTheLeaseIsNotNoticed(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	o := options(t, server, "/bobbin")
	term := lead(t, open(t, o))
	server.Kill()
	server.Run(t)
	require.Eventually(t, func() bool { return term.Write(t.Context(), app) == nil }, waitTimeout, 10*time.Millisecond)
	select {
	case <-term.Lost():
		t.Fatal("the term is over")
	default:
	}
	// After the restart, the term still detects that its key is deleted.
	_, err := server.Client().Delete(t.Context(), "/bobbin/leader/", clientv3.WithPrefix())
	require.NoError(t, err)
	over(t, term)
}

func TestALargeRecordIsRefused(t *testing.T) {
	t.Parallel()
	term := lead(t, open(t, options(t, etcdtest.Start(t), "/bobbin")))
	large := recovery.Record{Kind: "driver", ID: "d", Data: make([]byte, maxRecord+1)}
	assert.ErrorContains(t, term.Write(t.Context(), app, large), "driver/d")
	loaded, err := term.Load(t.Context())
	require.NoError(t, err)
	assert.Empty(t, loaded)
	large.Data = large.Data[1:]
	assert.NoError(t, term.Write(t.Context(), app, large))
}

func TestForeignKeys(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	term := lead(t, open(t, options(t, server, "/bobbin")))
	for _, key := range []string{"app", "app/", "app/a/b", "app/%zz", "/x"} {
		_, err := server.Client().Put(t.Context(), "/bobbin/state/"+key, "x")
		require.NoError(t, err)
	}
	require.NoError(t, term.Write(t.Context(), app))
	loaded, err := term.Load(t.Context())
	assert.Equal(t, []recovery.Record{app}, loaded)
	assert.Equal(t, 5, strings.Count(err.Error(), "its key is none that a master makes"), "%v", err)
}

func TestUnreachableServers(t *testing.T) {
	t.Parallel()
	o := Options{Endpoints: []string{"http://127.0.0.1:1"}, Directory: "/bobbin", Timeout: 2 * time.Second}
	_, err := Open(t.Context(), o)
	assert.ErrorContains(t, err, "http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused")
	assert.ErrorContains(t, err, "recovery.etcd")
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"recovery.etcd.endpoints":     {Directory: "/b"},
		"recovery.etcd.directory":     {Endpoints: []string{"http://a:1"}, Directory: "//"},
		`"a:2379"`:                    {Endpoints: []string{"a:2379"}, Directory: "/b"},
		`"http://a:1/x"`:              {Endpoints: []string{"http://a:1/x"}, Directory: "/b"},
		"all http:// or all https://": {Endpoints: []string{"http://a:1", "https://b:1"}, Directory: "/b"},
		"want whole seconds":          {Endpoints: []string{"http://a:1"}, Directory: "/b", Lease: 1500 * time.Millisecond},
	} {
		_, err := Open(t.Context(), o)
		assert.ErrorContains(t, err, want)
		assert.False(t, errors.Is(err, context.DeadlineExceeded))
	}
}

func TestAStandbyClosesDuringAnOutage(t *testing.T) {
	t.Parallel()
	for name, takeAway := range map[string]func(*testing.T, *etcdtest.Server) (back func()){
		"it hangs": func(t *testing.T, server *etcdtest.Server) func() { return server.Pause(t) },
		"it is killed": func(_ *testing.T, server *etcdtest.Server) func() {
			server.Kill()
			return func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := etcdtest.Start(t)
			o := options(t, server, "/bobbin")
			leading, standby := open(t, o), open(t, o)
			lead(t, leading)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := standby.Campaign(ctx, "bobbin://standby")
				ended <- err
			}()
			require.Eventually(t, func() bool { return standby.Leader() != "" }, waitTimeout, time.Millisecond)
			defer takeAway(t, server)()
			cancel()
			select {
			case err := <-ended:
				assert.ErrorIs(t, err, context.Canceled)
			case <-time.After(2 * defaultTimeout):
				t.Fatal("the standby does not give up")
			}
		})
	}
}

// Package recoverytest has the tests that every recovery.Backend must pass.
package recoverytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

// timeout limits every wait of a test.
const timeout = 20 * time.Second

// Store is a store of one cluster's state.
type Store struct {
	// Open opens the store, as a starting master does.
	Open func() (recovery.Backend, error)
	// Persistent is set if the state outlives the backend. Shared is set if several backends
	// can be open at the same time.
	Persistent, Shared bool
	// Damage changes the bytes of a record while no backend is open. It is nil if that is
	// impossible.
	Damage func(t *testing.T, kind, id string, change func([]byte) []byte)
}

// Run runs all tests. fresh creates an empty store.
func Run(t *testing.T, fresh func(t *testing.T) Store) {
	tests := []struct {
		name string
		run  func(*testing.T, Store)
	}{
		{"records are as they were written last", testRecords},
		{"records that cannot be named are refused", testRefused},
		{"many and large changes are one write", testMany},
		{"loaded records match a map after random writes", testAgainstModel},
		{"resigning or closing ends a term", testEnds},
		{"an ended context fails calls, not the term", testContext},
		{"state outlives the master", testPersistent},
		{"terms are numbered upwards", testNumbers},
		{"one master leads at a time", testOneLeads},
		{"a campaign ends with its context or the backend", testGivesUp},
		{"damaged records are reported and kept", testDamage},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, fresh(t)) })
	}
}

// master opens the store, which is closed at the end of the test.
func master(t require.TestingT, store Store) recovery.Backend {
	backend, err := store.Open()
	require.NoError(t, err)
	if cleaner, ok := t.(interface{ Cleanup(func()) }); ok {
		cleaner.Cleanup(func() { assert.NoError(t, backend.Close()) })
	}
	return backend
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return ctx
}

func leader(t *testing.T, backend recovery.Backend) recovery.Term {
	term, err := backend.Campaign(bounded(t), "bobbin://"+t.Name())
	require.NoError(t, err)
	return term
}

func record(kind, id, data string) recovery.Record {
	return recovery.Record{Kind: kind, ID: id, Data: []byte(data)}
}

func requireLost(t *testing.T, term recovery.Term) {
	t.Helper()
	select {
	case <-term.Lost():
	case <-time.After(timeout):
		t.Fatal("the term is not over")
	}
}

func requireLeads(t *testing.T, term recovery.Term) {
	t.Helper()
	select {
	case <-term.Lost():
		t.Fatal("the term is over")
	default:
	}
}

func testRecords(t *testing.T, store Store) {
	ctx, term := bounded(t), leader(t, master(t, store))
	loaded, err := term.Load(ctx)
	require.NoError(t, err)
	assert.Empty(t, loaded)

	const odd = "a/b%2F c\n☃\xff"
	require.NoError(t, term.Write(ctx, record("worker", "2", "two"), record("worker", "10", "ten"), record("app", "x", "y"), record("app", odd, odd)))
	require.NoError(t, term.Write(ctx, record("worker", "2", "zwei"), record("app", "empty", ""), record("app", "none", "there")))
	require.NoError(t, term.Write(ctx, recovery.Record{Kind: "app", ID: "x"}, recovery.Record{Kind: "app", ID: "was never"}))
	require.NoError(t, term.Write(ctx, record("app", "none", "again"), recovery.Record{Kind: "app", ID: "none"}))
	require.NoError(t, term.Write(ctx))
	loaded, err = term.Load(ctx)
	require.NoError(t, err)
	assert.Equal(t, []recovery.Record{
		record("app", odd, odd), record("app", "empty", ""), record("worker", "10", "ten"), record("worker", "2", "zwei"),
	}, loaded)

	loaded[2].Data[0] = 'x'
	again, err := term.Load(ctx)
	require.NoError(t, err)
	assert.Equal(t, "ten", string(again[2].Data), "Load returns copies")
}

func testRefused(t *testing.T, store Store) {
	ctx, term := bounded(t), leader(t, master(t, store))
	for _, r := range []recovery.Record{record("", "id", ""), record("kind", "", ""), record("kind", "i\x00d", ""), record("k\x00", "id", "")} {
		assert.ErrorContains(t, term.Write(ctx, record("app", "good", ""), r), fmt.Sprintf("%q", r.ID))
	}
	loaded, err := term.Load(ctx)
	require.NoError(t, err)
	assert.Empty(t, loaded, "nothing of such a write is kept")
}

func testMany(t *testing.T, store Store) {
	ctx, term := bounded(t), leader(t, master(t, store))
	var changes []recovery.Record
	for i := range 700 {
		changes = append(changes, record("worker", fmt.Sprintf("worker-%03d", i), strings.Repeat("w", i)))
	}
	for i := range 4 {
		changes = append(changes, record("zz", fmt.Sprint(i), strings.Repeat("large", 190_000)))
	}
	require.NoError(t, term.Write(ctx, changes...))
	loaded, err := term.Load(ctx)
	require.NoError(t, err)
	assert.True(t, assert.ObjectsAreEqual(changes, loaded), "all %d records are there", len(changes))
}

// testAgainstModel compares a backend with a map. It opens the store several times.
func testAgainstModel(t *testing.T, store Store) {
	rapid.Check(t, func(rt *rapid.T) {
		backend := master(rt, store)
		defer func() { require.NoError(rt, backend.Close()) }()
		begin := func() recovery.Term {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			term, err := backend.Campaign(ctx, "bobbin://here:1")
			require.NoError(rt, err)
			return term
		}
		term := begin()
		loaded, err := term.Load(t.Context())
		require.NoError(rt, err)
		model := map[[2]string]string{}
		for _, r := range loaded { // records of the previous call of this function
			model[[2]string{r.Kind, r.ID}] = string(r.Data)
		}
		names := rapid.SampledFrom([]string{"a", "b", "c/d", "c", "ä"})
		for range rapid.IntRange(1, 8).Draw(rt, "writes") {
			if store.Persistent && rapid.IntRange(0, 5).Draw(rt, "restart") == 0 {
				require.NoError(rt, backend.Close())
				backend, err = store.Open()
				require.NoError(rt, err)
				term = begin()
			}
			var changes []recovery.Record
			for range rapid.IntRange(0, 5).Draw(rt, "changes") {
				r := recovery.Record{Kind: names.Draw(rt, "kind"), ID: names.Draw(rt, "id")}
				key := [2]string{r.Kind, r.ID}
				delete(model, key)
				if rapid.Bool().Draw(rt, "kept") {
					r.Data = append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(rt, "data")...)
					model[key] = string(r.Data)
				}
				changes = append(changes, r)
			}
			require.NoError(rt, term.Write(t.Context(), changes...))
			loaded, err := term.Load(t.Context())
			require.NoError(rt, err)
			found := map[[2]string]string{}
			for _, r := range loaded {
				found[[2]string{r.Kind, r.ID}] = string(r.Data)
			}
			require.Equal(rt, model, found)
		}
	})
}

func testEnds(t *testing.T, store Store) {
	ctx, backend := bounded(t), master(t, store)
	assert.Empty(t, backend.Leader())
	first := leader(t, backend)
	assert.Equal(t, "bobbin://"+t.Name(), backend.Leader())
	requireLeads(t, first)
	require.NoError(t, first.Write(ctx, record("app", "1", "first")))
	require.NoError(t, first.Resign(ctx))
	requireLost(t, first)
	assert.Empty(t, backend.Leader())
	assert.ErrorIs(t, first.Write(ctx, record("app", "1", "late")), recovery.ErrLost)
	_, err := first.Load(ctx)
	assert.ErrorIs(t, err, recovery.ErrLost)

	second := leader(t, backend)
	assert.ErrorIs(t, first.Write(ctx, record("app", "1", "late")), recovery.ErrLost, "an old term cannot write after a new one began")
	assert.NoError(t, first.Resign(ctx))
	requireLeads(t, second)
	loaded, err := second.Load(ctx)
	require.NoError(t, err)
	assert.Equal(t, []recovery.Record{record("app", "1", "first")}, loaded)

	require.NoError(t, backend.Close())
	requireLost(t, second)
	assert.ErrorIs(t, second.Write(ctx, record("app", "1", "late")), recovery.ErrLost)
	_, err = backend.Campaign(ctx, "bobbin://here:1")
	assert.ErrorIs(t, err, recovery.ErrClosed)
	assert.NoError(t, backend.Close(), "closing again changes nothing")
}

func testContext(t *testing.T, store Store) {
	term := leader(t, master(t, store))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, term.Write(ended, record("app", "1", "")), context.Canceled)
	_, err := term.Load(ended)
	assert.ErrorIs(t, err, context.Canceled)
	requireLeads(t, term)
}

func testPersistent(t *testing.T, store Store) {
	if !store.Persistent {
		return
	}
	ctx, backend := bounded(t), master(t, store)
	require.NoError(t, leader(t, backend).Write(ctx, record("driver", "d", "state"), record("app", "a", "")))
	require.NoError(t, backend.Close())
	loaded, err := leader(t, master(t, store)).Load(ctx)
	require.NoError(t, err)
	assert.Equal(t, []recovery.Record{record("app", "a", ""), record("driver", "d", "state")}, loaded)
}

func testNumbers(t *testing.T, store Store) {
	ctx, backend := bounded(t), master(t, store)
	last := uint64(time.Now().Add(-time.Second).UnixMilli()) // a term number that a store may have had before it was lost
	for range 3 {
		term := leader(t, backend)
		assert.Greater(t, term.Number(), last)
		last = term.Number()
		require.NoError(t, term.Resign(ctx))
	}
	if store.Persistent {
		require.NoError(t, backend.Close())
		assert.Greater(t, leader(t, master(t, store)).Number(), last)
	}
}

// elected is the result of a campaign.
type elected struct {
	term recovery.Term
	err  error
}

func campaign(ctx context.Context, backend recovery.Backend, address string) <-chan elected {
	result := make(chan elected, 1)
	go func() {
		term, err := backend.Campaign(ctx, address)
		result <- elected{term, err}
	}()
	return result
}

func testOneLeads(t *testing.T, store Store) {
	if !store.Shared {
		return
	}
	ctx := bounded(t)
	backends := []recovery.Backend{master(t, store), master(t, store), master(t, store)}
	terms := []<-chan elected{campaign(ctx, backends[0], "bobbin://0"), nil, nil}
	first := <-terms[0]
	require.NoError(t, first.err)
	for i := 1; i < len(backends); i++ {
		terms[i] = campaign(ctx, backends[i], fmt.Sprintf("bobbin://%d", i))
		require.Eventually(t, func() bool { return backends[i].Leader() == "bobbin://0" }, timeout, time.Millisecond, "a standby knows the leader")
	}
	select {
	case <-terms[1]:
		t.Fatal("two masters lead")
	case <-terms[2]:
		t.Fatal("two masters lead")
	default:
	}
	require.NoError(t, first.term.Write(ctx, record("app", "1", "0")))
	require.NoError(t, first.term.Resign(ctx))
	var second elected
	next, other := 1, 2
	select {
	case second = <-terms[1]:
	case second = <-terms[2]:
		next, other = 2, 1
	}
	require.NoError(t, second.err)
	loaded, err := second.term.Load(ctx)
	require.NoError(t, err)
	assert.Equal(t, []recovery.Record{record("app", "1", "0")}, loaded)
	require.Eventually(t, func() bool { return backends[other].Leader() == fmt.Sprintf("bobbin://%d", next) }, timeout, time.Millisecond)

	require.NoError(t, backends[next].Close())
	requireLost(t, second.term)
	third := <-terms[other]
	require.NoError(t, third.err)
	assert.Greater(t, third.term.Number(), second.term.Number())
	requireLeads(t, third.term)
}

func testGivesUp(t *testing.T, store Store) {
	if !store.Shared {
		return
	}
	ctx := bounded(t)
	first, second := master(t, store), master(t, store)
	term := leader(t, first)
	waiting, cancel := context.WithCancelCause(ctx)
	result := campaign(waiting, second, "bobbin://standby")
	require.Eventually(t, func() bool { return second.Leader() == first.Leader() }, timeout, time.Millisecond)
	enough := errors.New("enough")
	cancel(enough)
	given := <-result
	require.ErrorIs(t, given.err, enough)

	result = campaign(ctx, second, "bobbin://standby")
	require.NoError(t, second.Close())
	given = <-result
	require.ErrorIs(t, given.err, recovery.ErrClosed)
	requireLeads(t, term)
	require.NoError(t, term.Write(ctx, record("app", "1", "")))
}

func testDamage(t *testing.T, store Store) {
	if store.Damage == nil {
		return
	}
	ctx, backend := bounded(t), master(t, store)
	changes := []recovery.Record{
		record("app", "changed", "content"), record("app", "cut", "content"), record("app", "foreign", "content"),
		record("app", "newer", "content"), record("app", "whole", "content"),
	}
	require.NoError(t, leader(t, backend).Write(ctx, changes...))
	require.NoError(t, backend.Close())
	store.Damage(t, "app", "changed", func(sealed []byte) []byte {
		sealed[len(sealed)-1] ^= 1
		return sealed
	})
	store.Damage(t, "app", "cut", func(sealed []byte) []byte { return sealed[:5] })
	store.Damage(t, "app", "foreign", func([]byte) []byte { return []byte(`{"hello":"master"}`) })
	store.Damage(t, "app", "newer", func(sealed []byte) []byte {
		sealed[3]++
		return sealed
	})

	backend = master(t, store)
	term := leader(t, backend)
	load := func(term recovery.Term) (whole []recovery.Record, damaged []string) {
		whole, err := term.Load(ctx)
		require.Error(t, err)
		for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
			var bad *recovery.DamagedError
			require.ErrorAs(t, err, &bad)
			assert.NotEmpty(t, bad.Where)
			damaged = append(damaged, bad.ID+": "+bad.Reason)
		}
		return whole, damaged
	}
	whole, damaged := load(term)
	assert.Equal(t, []recovery.Record{record("app", "whole", "content")}, whole)
	assert.Equal(t, []string{
		"changed: its checksum is not that of its content",
		"cut: it has 5 bytes, fewer than any record",
		"foreign: it was not written by a master",
		"newer: it has the form 2, and this master knows form 1: was it written by a newer one?",
	}, damaged)

	require.NoError(t, term.Write(ctx, record("app", "another", ""), record("app", "cut", "mended")))
	require.NoError(t, backend.Close())
	whole, damaged = load(leader(t, master(t, store)))
	assert.Len(t, damaged, 3, "damaged records stay until they are written again")
	assert.Equal(t, []recovery.Record{record("app", "another", ""), record("app", "cut", "mended"), record("app", "whole", "content")}, whole)
}

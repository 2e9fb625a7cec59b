package master

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

// slowLease is a store whose writes block until the test replies to them.
type slowLease struct {
	recovery.Term
	answers chan error
	written [][]recovery.Record
}

func (l *slowLease) Write(ctx context.Context, changes ...recovery.Record) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-l.answers:
		if err == nil {
			l.written = append(l.written, changes)
		}
		return err
	}
}

type journalTest struct {
	*journal
	lease     *slowLease
	delivered []string
	running   sync.WaitGroup
}

func newJournalTest() *journalTest {
	lease := &slowLease{answers: make(chan error)}
	j := &journalTest{journal: newJournal(lease, slog.New(slog.DiscardHandler)), lease: lease}
	j.running.Go(j.run)
	return j
}

func (j *journalTest) note(name string, changes ...recovery.Record) {
	j.add(entry{changes: changes, deliver: []func(){func() { j.delivered = append(j.delivered, name) }}})
	synctest.Wait()
}

func (j *journalTest) answer(err error) {
	j.lease.answers <- err
	synctest.Wait()
}

func TestOrdersWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournalTest()
		record := recovery.Record{Kind: "k", ID: "1", Data: []byte("x")}
		j.note("without changes")
		require.Equal(t, []string{"without changes"}, j.delivered)
		j.note("first", record)
		j.note("second")
		j.note("third", record)
		require.Len(t, j.delivered, 1, "nothing overtakes a write")
		j.answer(nil)
		require.Equal(t, []string{"without changes", "first"}, j.delivered)
		j.answer(errors.New("the disk is full"))
		require.Len(t, j.delivered, 2)
		j.answer(nil)
		require.Equal(t, []string{"without changes", "first", "second", "third"}, j.delivered, "a write is tried again, with all that came since")
		require.Len(t, j.lease.written, 2)
		j.close()
		j.running.Wait()
	})
}

func TestNothingIsSentAfterAnotherMasterLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournalTest()
		j.note("first", recovery.Record{Kind: "k", ID: "1"})
		j.note("second")
		j.answer(recovery.ErrLost)
		<-j.lost
		j.running.Wait()
		require.Empty(t, j.delivered)
	})
}

func TestCloseEndsAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournalTest()
		j.note("first", recovery.Record{Kind: "k", ID: "1"})
		j.close()
		j.running.Wait()
		<-j.stopped
		require.Empty(t, j.delivered)
	})
}

// failingStore is a store whose writes fail.
type failingStore struct{ recovery.Backend }

type failingTerm struct{ recovery.Term }

func (s failingStore) Campaign(ctx context.Context, address string) (recovery.Term, error) {
	term, err := s.Backend.Campaign(ctx, address)
	return failingTerm{term}, err
}

func (failingTerm) Write(context.Context, ...recovery.Record) error {
	return errors.New("the store is away")
}

func TestStatusWhileTheStoreIsUnavailable(t *testing.T) {
	m := start(t, failingStore{recovery.Memory()}, nil)
	leads(t, m)
	application := attachApplication(t, dial(t, m), firstMessage("app", 1))
	require.Eventually(t, func() bool {
		shown, err := m.Status(t.Context())
		return err == nil && len(shown.Applications) == 1
	}, time.Minute, time.Millisecond)
	m.stop()
	require.Error(t, application.end(), "it was never welcomed")
}

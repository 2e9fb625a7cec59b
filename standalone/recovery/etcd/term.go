package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

// term is the time during which this master's key is the oldest key of the election.
//
// A term ends when the key is deleted, or when the lease may have expired. The lease's
// duration is counted from just before the last successful renewal was sent, so this master
// stops leading no later than the servers expire the lease.
type term struct {
	backend     *backend
	session     *concurrency.Session
	lease       clientv3.LeaseID
	ttl         time.Duration // duration of the lease, as the servers returned it; only renewOnce changes ttl and leaseExpiry
	leaseExpiry time.Time     // when the lease may expire
	key         string
	revision    int64  // etcd revision at which the key was created
	number      uint64 // see recovery.Term; set by claim
	address     string

	end     sync.Once
	lost    chan struct{}
	stop    context.CancelCauseFunc
	running sync.WaitGroup // goroutines of the term
}

func (t *term) Number() uint64        { return t.number }
func (t *term) Lost() <-chan struct{} { return t.lost }

// claim writes the term's number, and returns the etcd revision of the write. It fails if this
// master's key is not the oldest in the election.
func (t *term) claim(ctx context.Context) (int64, error) {
	b := t.backend
	call, done := b.call(ctx)
	defer done()
	first, err := b.client.Get(call, b.leaderKeys()+"/", clientv3.WithFirstCreate()...)
	if err != nil {
		return 0, err
	}
	if len(first.Kvs) == 0 || string(first.Kvs[0].Key) != t.key || first.Kvs[0].CreateRevision != t.revision {
		return 0, errLeaseGone
	}
	last, err := b.client.Get(call, b.termKey())
	if err != nil {
		return 0, err
	}
	t.number = recovery.NextNumber(0)
	if len(last.Kvs) > 0 {
		number, err := strconv.ParseUint(string(last.Kvs[0].Value), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the key %s holds %q and no term's number: set it to 0", b.termKey(), last.Kvs[0].Value)
		}
		t.number = recovery.NextNumber(number)
	}
	answer, err := b.client.Txn(call).If(t.leads()).Then(clientv3.OpPut(b.termKey(), strconv.FormatUint(t.number, 10))).Commit()
	switch {
	case err != nil:
		return 0, err
	case !answer.Succeeded:
		return 0, errLeaseGone
	}
	return answer.Header.Revision, nil
}

var errLeaseGone = errors.New("the lease ran out while this master waited")

// leads returns the condition of all transactions of this term: this master's key still
// exists.
func (t *term) leads() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(t.key), "=", t.revision)
}

// begin starts the goroutines that renew the lease, watch this master's key, and end the term.
// seen is the etcd revision after which the key is watched. The caller must have added the
// term to backend.active.
func (t *term) begin(seen int64) {
	ctx, stop := context.WithCancelCause(t.backend.client.Ctx())
	t.stop = stop
	release := context.AfterFunc(t.backend.closing, func() { t.finish(recovery.ErrClosed) })
	t.running.Go(func() { t.renew(ctx) })
	t.running.Go(func() { t.watch(ctx, seen) })
	t.running.Go(func() {
		select {
		case <-t.session.Done():
			t.finish(errors.New("its lease ran out"))
		case <-ctx.Done():
		}
	})
	go func() {
		defer t.backend.active.Done()
		<-ctx.Done()
		release()
		t.finish(context.Cause(ctx)) // the cause if the client was closed; otherwise the term has ended already and finish has no effect
		t.running.Wait()
		t.session.Orphan()
		t.backend.revoke(t.lease)
	}()
}

// finish ends the term, and logs the reason why. It first closes the channel that Lost
// returns, and then stops the term's goroutines.
func (t *term) finish(why error) {
	t.end.Do(func() {
		unknown := ""
		t.backend.leader.Store(&unknown)
		close(t.lost)
		t.backend.options.Logger.Info("this master no longer leads", "address", t.address, "why", why)
		t.stop(why)
	})
}

// watch ends the term when this master's key is deleted. seen is an etcd revision at which the
// key existed.
func (t *term) watch(ctx context.Context, seen int64) {
	for ctx.Err() == nil {
		watch, stop := context.WithCancel(ctx)
		for answer := range t.backend.client.Watch(clientv3.WithRequireLeader(watch), t.key, clientv3.WithRev(seen+1)) {
			for _, event := range answer.Events {
				if event.Type == mvccpb.Event_DELETE {
					stop()
					t.finish(errors.New("its key in the election was deleted"))
					return
				}
			}
		}
		stop()
		// The watch failed, so read the key again.
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryPause):
		}
		call, done := t.backend.call(ctx)
		got, err := t.backend.client.Get(call, t.key)
		done()
		switch {
		case err != nil:
		case len(got.Kvs) == 0 || got.Kvs[0].CreateRevision != t.revision:
			t.finish(errors.New("its key in the election was deleted"))
			return
		default:
			seen = got.Header.Revision
		}
	}
}

// Resign ends the term, and waits until the servers have deleted the key or ctx ends.
func (t *term) Resign(ctx context.Context) error {
	t.finish(errors.New("it has resigned"))
	call, done := t.backend.call(ctx)
	defer done()
	if _, err := t.backend.client.Delete(call, t.key); err != nil {
		return fmt.Errorf("resign as the leader: %w (another master leads when the lease expires)", err)
	}
	return nil
}

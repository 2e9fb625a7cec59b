package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// campaignOnce tries once to be elected. It creates a lease for this attempt.
func (b *backend) campaignOnce(ctx context.Context, address string) (*term, error) {
	call, done := b.call(ctx)
	lease, err := b.client.Grant(call, int64(b.options.Lease/time.Second))
	done()
	if err != nil {
		return nil, err
	}
	elected := false
	defer func() {
		if !elected {
			b.revoke(lease.ID)
		}
	}()
	// If ctx ends before this master is elected, cancel the context of the session's client.
	// After the election, the term uses the session and its client.
	client, abandon := b.abandonable()
	defer context.AfterFunc(ctx, abandon)()
	defer func() {
		if !elected {
			abandon()
		}
	}()
	session, err := concurrency.NewSession(client, concurrency.WithLease(lease.ID), concurrency.WithContext(b.client.Ctx()))
	if err != nil {
		return nil, err
	}
	defer func() {
		if !elected {
			session.Orphan()
		}
	}()
	election := concurrency.NewElection(session, b.leaderKeys())
	if err := b.wait(ctx, session, election, address); err != nil {
		return nil, err
	}
	t := &term{
		backend: b, session: session, lease: lease.ID, key: election.Key(), revision: election.Rev(), address: address,
		leaseExpiry: time.Now().Add(b.options.Timeout), lost: make(chan struct{}),
	}
	if err := t.renewOnce(ctx); err != nil {
		return nil, err
	}
	// If the lease has expired during the wait, claim fails, because this master's key no
	// longer exists although wait has succeeded.
	seen, err := t.claim(ctx)
	if err != nil {
		return nil, err
	}
	elected = true
	b.leader.Store(&address)
	t.begin(seen)
	return t, nil
}

// abandonable returns a copy of the client, and a function that cancels the copy's context.
// Election.Campaign, when its own context ends, deletes its key with the client's context, and
// would block while no server answers. If the client's context is canceled too, Campaign
// returns without deleting the key; the key is deleted when the lease is revoked or expires.
func (b *backend) abandonable() (*clientv3.Client, context.CancelFunc) {
	ctx, abandon := context.WithCancel(b.client.Ctx())
	client := clientv3.NewCtxClient(ctx, clientv3.WithZapLogger(b.client.GetLogger()))
	client.KV, client.Lease, client.Watcher = b.client.KV, b.client.Lease, b.client.Watcher
	return client, abandon
}

// wait waits until this master is elected. Meanwhile it updates b.leader.
func (b *backend) wait(ctx context.Context, session *concurrency.Session, election *concurrency.Election, address string) error {
	ctx, stop := context.WithCancel(ctx)
	defer context.AfterFunc(session.Ctx(), stop)()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() {
		for ctx.Err() == nil {
			for leader := range election.Observe(ctx) {
				address := string(leader.Kvs[0].Value)
				b.leader.Store(&address)
			}
			select { // Observe has ended because the servers are unavailable
			case <-ctx.Done():
			case <-time.After(retryPause):
			}
		}
	})
	if err := election.Campaign(ctx, address); err != nil {
		if session.Ctx().Err() != nil {
			return fmt.Errorf("%w: %w", errLeaseGone, err)
		}
		return err
	}
	return nil
}

// revoke revokes a lease, if a server can be reached.
func (b *backend) revoke(lease clientv3.LeaseID) {
	call, done := b.call(b.client.Ctx())
	defer done()
	if _, err := b.client.Revoke(call, lease); err != nil && !errors.Is(err, context.Canceled) {
		b.options.Logger.Debug("the lease was not revoked and will expire", "etcd", b.options.where(), "error", err)
	}
}

package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// renewalsPerLease is how often a lease is renewed within its duration.
	renewalsPerLease = 4
	// renewPause is the pause before a failed renewal is tried again.
	renewPause = 200 * time.Millisecond
)

// renew renews the lease until ctx ends. If renewals fail, it ends the term before another
// master can be elected. The election's session also renews the lease, but it counts the
// lease's duration from the time when it reads the response, which may be too late.
func (t *term) renew(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(t.ttl / renewalsPerLease):
		}
		if err := t.renewOnce(ctx); err != nil {
			t.finish(fmt.Errorf("its lease was not renewed: %w", err)) // has no effect if ctx has ended
			return
		}
	}
}

// renewOnce renews the lease. It retries until the lease may have expired. The new expiry time
// is counted from just before the successful request was sent.
func (t *term) renewOnce(ctx context.Context) error {
	ctx, done := context.WithDeadline(ctx, t.leaseExpiry)
	defer done()
	for {
		sent := time.Now()
		ttl, err := t.backend.keepAlive(ctx, t.lease)
		switch {
		case err == nil && ttl <= 0:
			return errors.New("it has run out")
		case err == nil:
			t.ttl, t.leaseExpiry = ttl, sent.Add(ttl)
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(renewPause):
		}
	}
}

// keepAlive renews a lease once, and returns its new duration. It replaces the client's
// KeepAliveOnce, which retries without a pause if no server can be reached.
func (b *backend) keepAlive(ctx context.Context, lease clientv3.LeaseID) (time.Duration, error) {
	ctx, done := context.WithTimeout(clientv3.WithRequireLeader(ctx), b.options.Timeout)
	defer done() // also ends the stream
	stream, err := clientv3.RetryLeaseClient(b.client).LeaseKeepAlive(ctx)
	if err != nil {
		return 0, err
	}
	if err := stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(lease)}); err != nil {
		return 0, err
	}
	answer, err := stream.Recv()
	if err != nil {
		return 0, err
	}
	return time.Duration(answer.TTL) * time.Second, nil
}

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
	// renewals is how often in the time of a lease it is renewed.
	renewals = 4
	// renewPause is before a renewal that failed is tried again.
	renewPause = 200 * time.Millisecond
)

// renew keeps the lease, and ends the term before another master can have it.
// The election's session renews the lease as well, but takes it for held until
// some time after an answer has been read, whenever that was.
func (t *term) renew(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(t.ttl / renewals):
		}
		if err := t.renewed(ctx); err != nil {
			t.finish(fmt.Errorf("its lease was not renewed: %w", err)) // or ctx's end is known already
			return
		}
	}
}

// renewed renews the lease, trying again until it may have run out. Until when
// it holds then is counted from before the renewal was sent.
func (t *term) renewed(ctx context.Context) error {
	ctx, done := context.WithDeadline(ctx, t.until)
	defer done()
	for {
		sent := time.Now()
		ttl, err := t.backend.keepAlive(ctx, t.lease)
		switch {
		case err == nil && ttl <= 0:
			return errors.New("it has run out")
		case err == nil:
			t.ttl, t.until = ttl, sent.Add(ttl)
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(renewPause):
		}
	}
}

// keepAlive asks once for a lease's renewal, and returns how long it holds. The
// client's own call of that name asks again without a pause where no server
// can be reached.
func (b *backend) keepAlive(ctx context.Context, lease clientv3.LeaseID) (time.Duration, error) {
	ctx, done := context.WithTimeout(clientv3.WithRequireLeader(ctx), b.options.Timeout)
	defer done() // it ends the stream, too
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

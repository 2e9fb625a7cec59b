// Package etcd stores a standalone cluster's state in etcd, for masters on several machines.
// One master is elected with a lease and leads. When it fails, another one is elected and
// continues with the stored state.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

// retryPause is the longest pause before an election attempt or a watch is retried after an
// error.
const retryPause = time.Second

// backend is one master's connection to etcd.
type backend struct {
	options Options
	client  *clientv3.Client
	closing context.Context // canceled when Close begins
	close   context.CancelFunc
	leader  atomic.Pointer[string]

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup // counts the running calls of Campaign and the leader's terms that have not ended
}

// Open connects to the servers. It fails if no server answers within Options.Timeout, so that
// a wrong address is reported when the master starts.
func Open(ctx context.Context, o Options) (recovery.Backend, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: o.Endpoints, TLS: o.TLS, Username: o.Username, Password: o.Password,
		DialTimeout: o.Timeout, DialKeepAliveTime: pingAfter, DialKeepAliveTimeout: pingWait,
		Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("etcd at %s: %w; look at recovery.etcd.*", o.where(), err)
	}
	b := &backend{options: o, client: client}
	b.closing, b.close = context.WithCancel(context.Background())
	call, done := b.call(ctx)
	defer done()
	if _, err := client.Get(call, b.stateKeys(), clientv3.WithPrefix(), clientv3.WithCountOnly()); err != nil {
		_ = b.Close()
		if reason := o.diagnose(ctx); reason != nil {
			err = reason
		}
		return nil, fmt.Errorf("etcd at %s does not answer as it should: %w; look at recovery.etcd.*", o.where(), err)
	}
	return b, nil
}

// call returns a context for one call, whose timeout is Options.Timeout.
func (b *backend) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, b.options.Timeout)
}

// stateKeys and leaderKeys are the key prefixes of records and of the election. The value of
// termKey is the number of the latest term.
func (b *backend) stateKeys() string  { return b.options.Directory + "/state/" }
func (b *backend) leaderKeys() string { return b.options.Directory + "/leader" }
func (b *backend) termKey() string    { return b.options.Directory + "/term" }

// Campaign waits until this master is elected. It retries while the servers are unavailable.
func (b *backend) Campaign(ctx context.Context, address string) (recovery.Term, error) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil, recovery.ErrClosed
	}
	b.active.Add(1) // Done is called when the term ends
	b.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(b.closing, func() { cancel(recovery.ErrClosed) })()
	for {
		t, err := b.campaignOnce(ctx, address)
		if err == nil {
			return t, nil
		}
		if ctx.Err() != nil {
			b.active.Done()
			return nil, context.Cause(ctx)
		}
		pause := retryPause/2 + rand.N(retryPause/2)
		b.options.Logger.Warn("cannot stand for election as the leading master", "etcd", b.options.where(), "error", err, "again in", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

func (b *backend) Leader() string {
	if leader := b.leader.Load(); leader != nil {
		return *leader
	}
	return ""
}

// Close ends the term and revokes its lease. If no server can be reached, the lease expires
// later.
func (b *backend) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	b.mu.Unlock()
	b.close()
	ended := make(chan struct{})
	go func() {
		b.active.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(b.options.Timeout):
	}
	err := b.client.Close() // ends all calls that have not returned
	<-ended
	if errors.Is(err, context.Canceled) {
		return nil // the client returns this error after Close
	}
	return err
}

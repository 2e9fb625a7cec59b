// Package driver is the driver's endpoint for executors: it knows which executors
// are registered, sends them the tasks that package scheduler assigns, and gives
// the results to the caller. It does not know where executors come from: it asks a
// [ClusterManager] for them.
//
// A [Driver] runs task sets: [Driver.Run] yields results, and [Driver.Submit] calls
// a [Listener]. Its state is in one struct, loop, which one goroutine owns; the
// goroutines of executors' streams send it events and empty the executors'
// mailboxes, so that a slow executor delays no other. Callers must call
// [Driver.Stop].
package driver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

// ErrStopped ends task sets when the driver stops.
var ErrStopped = errors.New("the driver was stopped")

// stopWait bounds how long Stop waits for executors.
const stopWait = 5 * time.Second

// Options describe a driver.
type Options struct {
	ApplicationID string
	User          string            // as whom tasks access HDFS
	Config        *config.Config    // of the driver and, by Bootstrap, of its executors; nil for the defaults
	Hadoop        map[string]string // Hadoop's configuration for executors

	// Identity authenticates executors that connect over the network. If it is nil,
	// the driver does not listen, and all executors are of its process.
	Identity *identity.Identity
	// BindAddress is the host:port to listen on; port 0 for any free one.
	BindAddress string
	// Services registers further gRPC services on the driver's port. It is called
	// once, before the port is served; nil registers none.
	Services func(d *Driver, server grpc.ServiceRegistrar)

	// Manager is asked for executors. SetManager may set it later; nil if no
	// executors are to be requested.
	Manager ClusterManager
	// RackOf returns a host's rack, "" if that is unknown. nil knows none.
	RackOf func(host string) string
	// Pools are the pools of task sets if scheduler.mode is FAIR.
	Pools []pool.Pool

	Logger *slog.Logger // nil logs nothing
}

// Driver is a running driver. Its methods are safe for concurrent use.
type Driver struct {
	options  Options
	listener net.Listener
	server   *grpc.Server

	inbox chan event
	ended chan struct{} // closed when the event loop has ended
	stop  sync.Once

	streams struct {
		sync.Mutex
		closed         bool // no further streams are served
		open           map[*mailbox]struct{}
		sync.WaitGroup // of the goroutines that serve them
	}
	serving sync.WaitGroup

	progress atomic.Uint32 // the bits of a float32
	lastSet  atomic.Uint64 // id
}

// New starts a driver. It listens if it has an identity.
func New(options Options) (*Driver, error) {
	if options.Config == nil {
		options.Config = config.Default()
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.RackOf == nil {
		options.RackOf = func(string) string { return "" }
	}
	if err := pool.Check(options.Pools); err != nil {
		return nil, err
	}
	d := &Driver{
		options: options,
		inbox:   make(chan event, inboxDepth),
		ended:   make(chan struct{}),
	}
	d.streams.open = map[*mailbox]struct{}{}
	if options.Identity != nil {
		if err := d.listen(); err != nil {
			return nil, err
		}
	}
	go newLoop(d).run()
	return d, nil
}

// Addr is the host:port on which the driver listens; "" if it does not.
func (d *Driver) Addr() string {
	if d.listener == nil {
		return ""
	}
	return d.listener.Addr().String()
}

// ApplicationID is the application's, from the options.
func (d *Driver) ApplicationID() string { return d.options.ApplicationID }

// SetManager sets the cluster manager and requests executors at once.
func (d *Driver) SetManager(manager ClusterManager) {
	d.do(func(l *loop) { l.cluster.set(manager) })
}

// ExecutorLost reports that an executor has ended or is unreachable. The cluster
// manager calls it, for executors that never registered too. The executor's tasks
// run elsewhere.
func (d *Driver) ExecutorLost(id string, loss Loss) {
	d.do(func(l *loop) { l.executorLost(id, loss) })
}

// Status returns a snapshot of the driver; an empty Status after it has stopped.
func (d *Driver) Status() Status {
	status, _ := ask(d, (*loop).status)
	return status
}

// Stop ends every task set with ErrStopped, tells every executor to stop, and
// waits until they have, at most 5 s or until ctx ends. Then it waits for all
// goroutines of the driver. The error names executors that had not stopped.
func (d *Driver) Stop(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	empty := make(chan struct{})
	d.do(func(l *loop) { l.stop(empty) })
	var err error
	select {
	case <-empty:
	case <-d.ended:
	case <-limited.Done():
		ids, ok := ask(d, func(l *loop) []string { return slices.Sorted(maps.Keys(l.executors)) })
		if ok {
			err = fmt.Errorf("executors %s had not left when the driver stopped", shortList(ids))
		}
	}
	d.stop.Do(func() {
		d.streams.Lock()
		d.streams.closed = true
		d.streams.Unlock()
		d.do(func(l *loop) { l.over = true })
		<-d.ended
		if d.server != nil {
			d.server.Stop()
		}
	})
	<-d.ended
	d.serving.Wait()
	d.streams.Wait()
	return err
}

// shortList joins ids, at most ten.
func shortList(ids []string) string {
	const most = 10
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}

// ask returns what a call on the event loop returns. ok is false if the loop has
// ended without it.
func ask[T any](d *Driver, call func(*loop) T) (answer T, ok bool) {
	answers := make(chan T, 1)
	if !d.do(func(l *loop) { answers <- call(l) }) {
		return answer, false
	}
	select {
	case answer = <-answers:
		return answer, true
	case <-d.ended:
	}
	select {
	case answer = <-answers: // from the last turn
		return answer, true
	default:
		return answer, false
	}
}

// do makes a call on the event loop, without waiting for it. It returns false if
// the loop has ended.
func (d *Driver) do(call func(*loop)) bool { return d.post(event{call: call}) }

func (d *Driver) post(e event) bool {
	select {
	case <-d.ended:
		return false
	default:
	}
	select {
	case d.inbox <- e: // cheaper than a select over two channels
		return true
	default:
	}
	select {
	case d.inbox <- e:
		return true
	case <-d.ended:
		return false
	}
}

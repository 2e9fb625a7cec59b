// Package driver is the driver's endpoint: it knows which executors are
// registered and what they run, turns the scheduler's decisions into messages
// to them, and their messages into results. It knows nothing of where
// executors come from: a ClusterManager makes them.
//
// One goroutine owns the scheduler, the table of executors and the jobs. The
// goroutines of the streams feed its inbox and empty the outbox of their
// executor, so nothing that one executor does holds up another.
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

// ErrStopped ends what runs when the driver stops.
var ErrStopped = errors.New("the driver was stopped")

// stopWait bounds how long Stop waits for executors to leave.
const stopWait = 5 * time.Second

// Options describe a driver.
type Options struct {
	ApplicationID string
	User          string            // as whom tasks reach HDFS
	Config        *config.Config    // nil is the default configuration
	Hadoop        map[string]string // what was set of Hadoop's configuration, for the executors

	// Identity is what executors over the network join by; where it is nil, the
	// driver does not listen and takes executors of its own process only.
	Identity *identity.Identity
	// BindAddress is the host:port to listen on; port 0 takes a free one.
	BindAddress string

	// Manager is asked for executors; it may be set later by SetManager, and is
	// nil where the executors are there anyway.
	Manager ClusterManager
	// Services registers further gRPC services on the driver's port. It is called
	// once, before the port is served; nil registers none.
	Services func(d *Driver, server grpc.ServiceRegistrar)
	// RackOf names a host's rack; nil, or "" of a host, where racks are unknown.
	RackOf func(host string) string
	// Pools are those that jobs share the executors by where scheduler.mode is
	// FAIR.
	Pools []pool.Pool
	// Excluded reports whether executors on a host are refused; nil refuses none.
	// It is called by the driver's event loop and must not block.
	Excluded func(host string) bool

	Logger *slog.Logger // nil logs nothing
}

// Driver is a driver at work, from New to Stop. Its methods are safe for
// concurrent use.
type Driver struct {
	options  Options
	listener net.Listener
	server   *grpc.Server

	inbox chan event
	ended chan struct{} // closed when the event loop has ended
	stop  sync.Once

	streams struct {
		sync.Mutex
		closed         bool                 // no further one is taken
		open           map[*outbox]struct{} // of those that are served
		sync.WaitGroup                      // for those that serve them
	}
	serving sync.WaitGroup

	progress atomic.Uint32 // the bits of a float32
	lastRun  atomic.Uint64 // id of a task set
}

// New starts a driver: it listens, where it has an identity, and runs its
// event loop until Stop.
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
	if options.Excluded == nil {
		options.Excluded = func(string) bool { return false }
	}
	if err := pool.Check(options.Pools); err != nil {
		return nil, err
	}
	d := &Driver{
		options: options,
		inbox:   make(chan event, inboxDepth),
		ended:   make(chan struct{}),
	}
	d.streams.open = map[*outbox]struct{}{}
	if options.Identity != nil {
		if err := d.listen(); err != nil {
			return nil, err
		}
	}
	go newLoop(d).run()
	return d, nil
}

// Addr is the host:port on which the driver listens; "" where it does not.
func (d *Driver) Addr() string {
	if d.listener == nil {
		return ""
	}
	return d.listener.Addr().String()
}

// ApplicationID is the application's, as the options gave it.
func (d *Driver) ApplicationID() string { return d.options.ApplicationID }

// SetManager gives the driver whom to ask for executors, and asks at once.
func (d *Driver) SetManager(manager ClusterManager) {
	d.do(func(l *loop) { l.demand.setManager(manager) })
}

// ExecutorLost is said by the cluster manager when an executor has ended or
// cannot be reached, also where it never registered, or had its stream break
// before. Its tasks run elsewhere.
func (d *Driver) ExecutorLost(id string, loss Loss) {
	d.do(func(l *loop) { l.managerSaysLost(id, loss) })
}

// Status is a snapshot of the driver; of a stopped one, an empty Status.
func (d *Driver) Status() Status {
	snapshot := make(chan Status, 1)
	if !d.do(func(l *loop) { snapshot <- l.status() }) {
		return Status{}
	}
	select {
	case status := <-snapshot:
		return status
	case <-d.ended:
		return Status{}
	}
}

// Stop ends every run with ErrStopped, tells every executor to stop, and waits
// until they have left, at most 5 s or until ctx ends, and then for every
// goroutine of the driver. The error names executors that had not left.
func (d *Driver) Stop(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	empty := make(chan struct{})
	d.do(func(l *loop) { l.stopExecutors(empty) })
	var err error
	select {
	case <-empty:
	case <-d.ended:
	case <-limited.Done():
		remaining := make(chan []string, 1)
		if d.do(func(l *loop) { remaining <- slices.Sorted(maps.Keys(l.executors)) }) {
			select {
			case ids := <-remaining:
				err = fmt.Errorf("executors %s had not left when the driver stopped", few(ids))
			case <-d.ended:
			}
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

// few names ids, of many the first.
func few(ids []string) string {
	const most = 10
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}

// do has the event loop call a function. It reports whether the loop is there
// to do so.
func (d *Driver) do(call func(*loop)) bool { return d.post(event{call: call}) }

func (d *Driver) post(e event) bool {
	select {
	case <-d.ended:
		return false
	default:
	}
	select {
	case d.inbox <- e:
		return true
	default: // it is full, or there is nobody to empty it
	}
	select {
	case d.inbox <- e:
		return true
	case <-d.ended:
		return false
	}
}

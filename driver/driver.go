// Package driver is the driver's endpoint for executors: it knows which executors are
// registered, sends them the tasks that package scheduler assigns, and gives the results
// to the caller. It does not start executors: it asks a [ClusterManager] for them.
//
// A [Driver] runs task sets: [Driver.Run] yields results, and [Driver.Submit] calls a
// [Listener]. Its state is in one struct, loop, which one goroutine, the event loop,
// owns. Each executor is connected by a stream, whose goroutines pass its messages to the
// event loop and send the messages that the event loop puts into the executor's mailbox.
// So a slow executor does not delay others. Callers must call [Driver.Stop].
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
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

// ErrStopped is the error with which task sets end when the driver stops.
var ErrStopped = errors.New("the driver was stopped")

// stopWait is how long Stop waits for executors to stop.
const stopWait = 5 * time.Second

// Options describe a driver.
type Options struct {
	ApplicationID string
	User          string            // the user as whom tasks access HDFS
	Config        *config.Config    // settings of the driver, which executors get when they bootstrap; nil means the defaults
	Hadoop        map[string]string // properties of Hadoop, which executors get when they bootstrap

	// Identity authenticates executors that connect over the network. If it is nil,
	// the driver does not listen, and all executors run in the driver's process;
	// see AttachLocal.
	Identity *identity.Identity
	// BindAddress is the host:port to listen on; port 0 means any free port.
	BindAddress string
	// Services registers other gRPC services on the driver's port, besides the service
	// of executors. The driver calls Services once, before it serves the port. May be nil.
	Services func(d *Driver, server grpc.ServiceRegistrar)

	// Manager is the cluster manager from which the driver requests executors. If
	// it is nil, no executors are requested until SetManager is called.
	Manager ClusterManager
	// RackOf returns the rack of a host, "" if unknown. If nil, no rack is known.
	RackOf func(host string) string
	// Pools are the configured scheduling pools, for scheduler.mode=FAIR.
	Pools []pool.Pool

	// Events records what happens to executors, jobs and tasks. May be nil.
	Events *events.Recorder
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
		closed         bool // set by Stop: the driver serves no new streams
		open           map[*mailbox]struct{}
		sync.WaitGroup // counts the goroutines that serve streams
	}
	serving sync.WaitGroup

	progress atomic.Uint32 // what Progress returns, as the bits of a float32
	lastID   atomic.Uint64 // the latest id of a job, stage or task set
}

// New starts a driver. It listens for executors if options.Identity is set. It
// fails if the pools are invalid or if it cannot listen.
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

// Addr returns the host:port on which the driver listens; "" if it does not listen.
func (d *Driver) Addr() string {
	if d.listener == nil {
		return ""
	}
	return d.listener.Addr().String()
}

// ApplicationID returns Options.ApplicationID.
func (d *Driver) ApplicationID() string { return d.options.ApplicationID }

// SetManager sets the cluster manager and sends it a request for executors at once.
func (d *Driver) SetManager(manager ClusterManager) {
	d.do(func(l *loop) { l.requester.setManager(manager) })
}

// ExecutorLost reports that an executor, registered or not, has ended or is unreachable.
// The tasks that ran on the executor run again elsewhere.
func (d *Driver) ExecutorLost(id string, loss Loss) {
	d.do(func(l *loop) { l.executorLost(id, loss) })
}

// Status returns a snapshot of the driver; after the driver has stopped, the zero Status.
func (d *Driver) Status() Status {
	status, _ := ask(d, (*loop).status)
	status.Slowest = slowest(d.options.Events.Snapshot(), time.Now())
	return status
}

// Stop ends every task set with ErrStopped, tells every executor to stop, and waits
// until all have stopped, 5 s have passed or ctx ends. Then it waits for all
// goroutines of the driver to end. The error names executors that had not stopped.
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
			err = fmt.Errorf("executors %s had not left when the driver stopped", abbreviatedList(ids))
		}
	}
	d.stop.Do(func() {
		d.streams.Lock()
		d.streams.closed = true
		d.streams.Unlock()
		d.do(func(l *loop) { l.isLastTurn = true })
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

// abbreviatedList joins ids with commas: at most ten, then the number of ids left out.
func abbreviatedList(ids []string) string {
	const most = 10
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}

// ask makes a call on the event loop. ok is false if the loop ended without making it.
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
	case answer = <-answers: // the loop made the call just before it ended
		return answer, true
	default:
		return answer, false
	}
}

// do queues a call for the event loop. It returns false if the loop has ended.
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

// Package driver implements the driver's side of executors: executors register with it, it sends
// them the tasks that package scheduler assigns, and it passes the results to the caller. It
// does not start executors: it requests them from a [ClusterManager].
//
// A [Driver] runs task sets: [Driver.Run] yields results, and [Driver.Submit] calls a
// [Listener]. The driver's state is the struct loop, which only one goroutine, the event loop,
// uses. Each executor has a gRPC stream with two goroutines: one passes the executor's messages
// to the event loop, the other sends the messages that the event loop puts into the executor's
// mailbox. So a slow executor does not delay others. Callers must call [Driver.Stop].
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
	User          string            // the user that tasks access HDFS as
	Config        *config.Config    // settings of the driver, which it sends to executors; nil means the defaults
	Hadoop        map[string]string // Hadoop's configuration properties, which the driver sends to executors

	// Identity authenticates executors that connect over the network. If it is nil, the driver
	// opens no port, and all executors run in the driver's process; see AttachLocal.
	Identity *identity.Identity
	// BindAddress is the host:port to listen on; port 0 means any free port.
	BindAddress string
	// Services registers further gRPC services on the driver's port, in addition to the service
	// for executors. The driver calls it once, before it serves the port. May be nil.
	Services func(d *Driver, server grpc.ServiceRegistrar)

	// Manager is the cluster manager from which the driver requests executors. If
	// it is nil, no executors are requested until SetManager is called.
	Manager ClusterManager
	// RackOf returns the rack of a host; "" if the rack is unknown. If nil, no rack is known.
	RackOf func(host string) string
	// Pools are the configured scheduling pools, for scheduler.mode=FAIR.
	Pools []pool.Pool

	// Events records the events of executors, jobs and tasks. May be nil.
	Events *events.Recorder
	Logger *slog.Logger // nil logs nothing
}

// Driver is a running driver. Its methods are safe for concurrent use.
type Driver struct {
	options  Options
	listener net.Listener
	server   *grpc.Server

	inbox chan event
	ended chan struct{} // closed when the event loop has returned
	stop  sync.Once

	streams struct {
		sync.Mutex
		closed         bool // set by Stop: the driver serves no new streams
		open           map[*mailbox]struct{}
		sync.WaitGroup // counts the goroutines that serve streams
	}
	serving sync.WaitGroup

	progress atomic.Uint32 // return value of Progress, as the bits of a float32
	lastID   atomic.Uint64 // the latest id that was assigned to a job, stage or task set
}

// New starts a driver. If options.Identity is set, the driver listens for executors. New fails
// if the pools are invalid or if the driver cannot listen.
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

// ExecutorLost reports that an executor, registered or not, has ended or is unreachable. The
// tasks that ran on the executor are retried on other executors.
func (d *Driver) ExecutorLost(id string, loss Loss) {
	d.do(func(l *loop) { l.executorLost(id, loss) })
}

// Status returns a snapshot of the driver; after the driver has stopped, the zero Status.
func (d *Driver) Status() Status {
	status, _ := ask(d, (*loop).status)
	status.Slowest = slowest(d.options.Events.Snapshot(), time.Now())
	return status
}

// Stop ends every task set with ErrStopped and stops every executor. It waits until all
// executors have stopped, but at most 5 s and at most until ctx ends. Then it waits until all
// goroutines of the driver have ended. The returned error names the executors that had not
// stopped.
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

// abbreviatedList joins at most ten ids with commas, and appends the number of ids left out.
func abbreviatedList(ids []string) string {
	const most = 10
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}

// ask runs a function in the event loop and returns the function's result. ok is false if the
// loop ended first.
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
	case answer = <-answers: // the loop ran the call just before it ended
		return answer, true
	default:
		return answer, false
	}
}

// do adds a function to the event loop's inbox, to be called by the loop. It returns false if
// the loop has ended.
func (d *Driver) do(call func(*loop)) bool { return d.post(event{call: call}) }

func (d *Driver) post(e event) bool {
	select {
	case <-d.ended:
		return false
	default:
	}
	select {
	case d.inbox <- e: // faster than a select over two channels
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

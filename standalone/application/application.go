// Package application connects a driver to the masters of a standalone cluster.
//
// Application is the driver's cluster manager (driver.ClusterManager). It sends the
// driver's requests to each new leader, so that the driver does not notice a
// master's restart or replacement. The caller starts it with Start, calls Finish
// when the application has ended, and then Close.
package application

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// ErrEnded is wrapped by Application.Err if a master has ended the application.
var ErrEnded = errors.New("the master has ended the application")

// Driver receives masters' reports about executors; *driver.Driver implements it.
type Driver interface {
	ExecutorLost(id string, loss driver.Loss)
	Decommission(ids []string, notice driver.DecommissionNotice)
}

// Options describe an application to its masters.
type Options struct {
	// ID is made by NewID.
	ID string
	// Masters are the addresses, host:port, of all known masters.
	Masters []string
	// Dial are gRPC's dial options with the credentials (protocol.Credentials.DialOptions).
	Dial []grpc.DialOption
	// Description describes the application. Start sets Command.Program and Command.Files.
	Description *protocol.ApplicationDescription
	// Files are the executors' program, which comes first, and files for their working
	// directories; nil for none.
	Files *HashedFiles
	// TaskResources converts amounts by YARN resource type to amounts by the names that
	// tasks use, such as gpu; nil keeps the names.
	TaskResources func(map[string]int64) map[string]int64
	Driver        Driver
	Events        events.Sink  // records why the master does not launch executors; nil records nothing
	Logger        *slog.Logger // nil logs nothing
}

// registrationTimeout bounds the registration in Start (Spark: three tries of 20 s).
const registrationTimeout = 60 * time.Second

// Application is a driver's cluster manager, from Start to Close. It is safe for
// concurrent use.
type Application struct {
	options Options
	masters *protocol.Masters
	logger  *slog.Logger

	mu    sync.Mutex
	state state
	term  uint64        // the highest term number of a leader so far
	wake  chan struct{} // holds a token if the state has something to send

	uploaded bool // set once a master has all files; only for the goroutine that calls send

	ended     chan struct{} // closed when the application is over, see Ended
	err       error         // why the application is over, once ended is closed; nil after Finish
	stop      context.CancelFunc
	following sync.WaitGroup
}

// NewID returns a new application id, which the driver needs before it registers.
func NewID(now time.Time) string {
	return "app-" + now.UTC().Format("20060102150405") + "-" + random(4)
}

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Start registers an application with the leading master, and with later leaders,
// until Close. It fails if no master accepts the application within 60 s or before
// ctx ends, and at once if a master refuses it.
func Start(ctx context.Context, options Options) (*Application, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Events == nil {
		options.Events = (*events.Recorder)(nil)
	}
	a := &Application{
		options: options,
		masters: protocol.NewMasters(options.Masters, options.Dial),
		logger:  options.Logger,
		wake:    make(chan struct{}, 1),
		ended:   make(chan struct{}),
	}
	a.state = newState(options.ID, options.Description, options.Files)
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stop = stop
	searching, cancel := context.WithTimeoutCause(ctx, registrationTimeout,
		fmt.Errorf("no master took the application within %v", registrationTimeout))
	defer cancel()
	first, err := a.register(searching, following, true)
	if err != nil {
		stop()
		a.masters.Close()
		return nil, err
	}
	a.logger.Info("registered with the master", "application", options.ID, "master", first.master, "page", first.welcome.GetWebUrl())
	a.following.Go(func() { a.followMasters(following, first) })
	return a, nil
}

// RequestExecutors implements driver.ClusterManager.
func (a *Application) RequestExecutors(request driver.Request) {
	encoded := a.options.encode(request)
	a.update(func(s *state) { s.setRequest(encoded) })
}

// KillExecutors implements driver.ClusterManager.
func (a *Application) KillExecutors(ids []string) {
	a.update(func(s *state) {
		for _, id := range ids {
			if number, ok := executorNumber(id); ok {
				s.killExecutor(number)
			}
		}
	})
}

// ExecutorRegistered implements driver.ClusterManager.
func (a *Application) ExecutorRegistered(id string) {
	if number, ok := executorNumber(id); ok {
		a.update(func(s *state) { s.executorRegistered(number) })
	}
}

// Ended returns a channel that is closed when a master has ended the application or
// confirmed Finish, or a local file could not be read. Err returns the reason.
func (a *Application) Ended() <-chan struct{} { return a.ended }

// Err returns why the application is over, nil before Ended is closed and after Finish.
func (a *Application) Err() error {
	select {
	case <-a.ended:
		return a.err
	default:
		return nil
	}
}

// Finish tells the master that the application has ended, with success if failure is
// nil, and the summary (see protocol.Finish). It returns when the master has confirmed and
// launches no more executors. If ctx ends first, Finish fails with ctx's cause.
func (a *Application) Finish(ctx context.Context, failure error, summary string) error {
	finish := &protocol.Finish{Succeeded: failure == nil, Summary: strings.ToValidUTF8(summary, "\uFFFD")}
	if failure != nil {
		finish.Diagnostics = strings.ToValidUTF8(failure.Error(), "\uFFFD")
	}
	a.update(func(s *state) { s.setFinish(finish) })
	select {
	case <-a.ended:
		return a.err
	case <-ctx.Done():
		return fmt.Errorf("telling the master how the application ended: %w", context.Cause(ctx))
	}
}

// Close closes the connections. Without Finish, the master counts the application as
// lost after deploy.reconnectTimeout.
func (a *Application) Close() {
	a.stop()
	a.following.Wait()
	a.masters.Close()
}

func (a *Application) update(change func(*state)) {
	a.mu.Lock()
	change(&a.state)
	a.mu.Unlock()
	a.signal()
}

func (a *Application) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// setEnded ends the application with err, which may be nil. Only followMasters calls it, once.
func (a *Application) setEnded(err error) {
	a.err = err
	close(a.ended)
}

// executorNumber parses an executor's id, and reports whether that is a decimal number.
func executorNumber(id string) (uint32, bool) {
	number, err := strconv.ParseUint(id, 10, 32)
	return uint32(number), err == nil
}

func executorID(number uint32) string { return strconv.FormatUint(uint64(number), 10) }

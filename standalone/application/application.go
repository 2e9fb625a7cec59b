// Package application connects a driver to the masters of a standalone cluster.
//
// Application is the driver's cluster manager (driver.ClusterManager). It sends the driver's
// requests to each new leading master, so that the restart or replacement of a master does not
// affect the driver. The driver's process calls Start, calls Finish when the application has
// ended, and then calls Close.
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

// Application.Err returns an error that wraps ErrEnded if a master has ended the application.
var ErrEnded = errors.New("the master has ended the application")

// Driver receives the masters' reports about executors. *driver.Driver implements it.
type Driver interface {
	ExecutorLost(id string, loss driver.Loss)
	Decommission(ids []string, notice driver.DecommissionNotice)
}

// Options describe an application and the masters of its cluster.
type Options struct {
	// ID is the application's id. NewID returns one.
	ID string
	// Masters are the addresses, host:port, of all known masters.
	Masters []string
	// Dial has gRPC's dial options, which contain the cluster's credentials
	// (protocol.Credentials.DialOptions).
	Dial []grpc.DialOption
	// Description describes the application. Start sets Command.Program and Command.Files.
	Description *protocol.ApplicationDescription
	// Files are the executors' program, which is the first file, and the files for the
	// executors' working directories. nil means none.
	Files *HashedFiles
	// TaskResources converts amounts by YARN resource type to amounts by the resource names
	// that tasks use, such as gpu. nil means that the names are the same.
	TaskResources func(map[string]int64) map[string]int64
	Driver        Driver
	Events        events.Sink  // receives the reasons why the master launches no executors; nil records nothing
	Logger        *slog.Logger // nil logs nothing
}

// registrationTimeout is how long Start tries to register (Spark: three tries of 20 s).
const registrationTimeout = 60 * time.Second

// Application is a driver's cluster manager. It can be used from Start until Close. It is safe
// for concurrent use.
type Application struct {
	options Options
	masters *protocol.Masters
	logger  *slog.Logger

	mu    sync.Mutex
	state state
	term  uint64        // the highest term number of a leader so far (see recovery.Term)
	wake  chan struct{} // has an element if the state has something to send

	uploaded bool // whether a master has all files; only the goroutine that calls send uses it

	ended     chan struct{} // closed when the application has ended; see Ended
	err       error         // why the application has ended, once ended is closed; nil after Finish
	stop      context.CancelFunc
	following sync.WaitGroup
}

// NewID returns a new application id. The driver needs its id before the application
// registers.
func NewID(now time.Time) string {
	return "app-" + now.UTC().Format("20060102150405") + "-" + random(4)
}

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Start registers an application with the leading master, and then with each new leader until
// Close. It waits until a master has accepted the application. It fails if no master accepts
// the application within 60 s or before ctx ends. It fails immediately if a master refuses the
// application.
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

// Ended returns a channel that is closed when a master has ended the application, when a
// master has confirmed Finish, or when a file of Options.Files could not be read. Err returns
// the reason.
func (a *Application) Ended() <-chan struct{} { return a.ended }

// Err returns why the application has ended. It returns nil before the channel Ended is
// closed, and after Finish.
func (a *Application) Err() error {
	select {
	case <-a.ended:
		return a.err
	default:
		return nil
	}
}

// Finish reports the end of the application to the master: a success if failure is nil, and
// the summary (see protocol.Finish). It waits until the master has confirmed the end; the
// master then launches no more executors. If ctx ends first, Finish fails with ctx's cause.
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

// Close closes the connections to the masters. If Finish was not called, the master considers
// the application lost after deploy.reconnectTimeout.
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

// setEnded ends the application with err, which may be nil. It is called only once, by
// followMasters.
func (a *Application) setEnded(err error) {
	a.err = err
	close(a.ended)
}

// executorNumber parses an executor's id. It returns false if the id is not a decimal number.
func executorNumber(id string) (uint32, bool) {
	number, err := strconv.ParseUint(id, 10, 32)
	return uint32(number), err == nil
}

func executorID(number uint32) string { return strconv.FormatUint(uint64(number), 10) }

// Package application is the side of a standalone cluster's masters on which
// programs are: Application is a driver's cluster manager, and Client submits
// drivers to a cluster, tells of them and ends them.
//
// What an application wants of its master is state, told whole to whichever
// master leads: so a master that restarts, or another that takes its place,
// knows as much as the one before, and the driver notices nothing.
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
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// ErrEnded is wrapped by the error of an application that its master has ended.
var ErrEnded = errors.New("the master has ended the application")

// Driver is what an application tells of its executors; *driver.Driver is one.
type Driver interface {
	ExecutorLost(id string, loss driver.Loss)
	Decommission(ids []string, notice driver.Notice)
}

// Options describe an application to its masters.
type Options struct {
	// ID is the application's, as NewID makes it.
	ID string
	// Masters are host:port of all masters that are known; one of them leads.
	Masters []string
	// Dial are the cluster's credentials (protocol.Credentials.DialOptions).
	Dial []grpc.DialOption
	// Description is told to the masters; the program and the files of its command
	// are those of Files.
	Description *protocol.ApplicationDescription
	// Files are the program, which is the first one, and what lies beside it.
	Files *Files
	// TaskResources are amounts of a profile's resources by the names by which
	// tasks ask for them; nil leaves the names as they are.
	TaskResources func(map[string]int64) map[string]int64
	Driver        Driver
	Logger        *slog.Logger // nil logs nothing
}

// registrationTimeout is three tries of 20 s, as in Spark's StandaloneAppClient.
const registrationTimeout = 60 * time.Second

// Application is a driver's cluster manager (driver.ClusterManager), from Start
// to Close. It is safe for concurrent use.
type Application struct {
	options Options
	masters *protocol.Masters
	logger  *slog.Logger

	mu    sync.Mutex
	state state
	term  uint64        // the newest of a master that has led
	wake  chan struct{} // holds a token where the state has something to send

	brought bool // a master has had all files; the sender's of the stream that there is

	over   chan struct{} // closed when the application is over by the master's word
	err    error         // why, once over is closed; nil after a finish
	leave  context.CancelFunc
	follow sync.WaitGroup
}

// NewID makes an application's id. The driver has to know it before it can be
// told to a master, so it is not the master that makes it.
func NewID(now time.Time) string {
	return "app-" + now.UTC().Format("20060102150405") + "-" + random(4)
}

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Start registers an application with the master that leads, which it looks for
// until the patience or ctx is over, and follows it from then on until Close.
func Start(ctx context.Context, options Options) (*Application, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Application{
		options: options,
		masters: protocol.NewMasters(options.Masters, options.Dial),
		logger:  options.Logger,
		wake:    make(chan struct{}, 1),
		over:    make(chan struct{}),
	}
	a.state = newState(options.ID, options.Description, options.Files)
	following, leave := context.WithCancel(context.WithoutCancel(ctx))
	a.leave = leave
	looking, cancel := context.WithTimeoutCause(ctx, registrationTimeout,
		fmt.Errorf("no master took the application within %v", registrationTimeout))
	defer cancel()
	first, err := a.register(looking, following, true)
	if err != nil {
		leave()
		a.masters.Close()
		return nil, err
	}
	a.logger.Info("registered with the master", "application", options.ID, "master", first.master, "page", first.welcome.GetWebUrl())
	a.follow.Go(func() { a.followMasters(following, first) })
	return a, nil
}

// RequestExecutors implements driver.ClusterManager.
func (a *Application) RequestExecutors(request driver.Request) {
	encoded := a.options.encode(request)
	a.tell(func(s *state) { s.setRequest(encoded) })
}

// KillExecutors implements driver.ClusterManager.
func (a *Application) KillExecutors(ids []string) {
	a.tell(func(s *state) {
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
		a.tell(func(s *state) { s.executorRegistered(number) })
	}
}

// Over is closed when the application is over by its master's word; Err is why.
func (a *Application) Over() <-chan struct{} { return a.over }

// Err is why the application is over; nil until it is, and where it was finished
// from here.
func (a *Application) Err() error {
	select {
	case <-a.over:
		return a.err
	default:
		return nil
	}
}

// Finish tells the master how the application ended, failed where failure is not
// nil, and returns when the master has heard of it and launches no executor any
// more, or with ctx's cause.
func (a *Application) Finish(ctx context.Context, failure error) error {
	finish := &protocol.Finish{Succeeded: failure == nil}
	if failure != nil {
		finish.Diagnostics = strings.ToValidUTF8(failure.Error(), "\uFFFD")
	}
	a.tell(func(s *state) { s.setFinish(finish) })
	select {
	case <-a.over:
		return a.err
	case <-ctx.Done():
		return fmt.Errorf("telling the master how the application ended: %w", context.Cause(ctx))
	}
}

// Close stops following the master, which takes the application for gone after a
// while unless it was finished.
func (a *Application) Close() {
	a.leave()
	a.follow.Wait()
	a.masters.Close()
}

// tell changes the state, and has what is new sent.
func (a *Application) tell(change func(*state)) {
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

// end notes that the application is over. It is called once, by the goroutine
// that follows the masters.
func (a *Application) end(err error) {
	a.err = err
	close(a.over)
}

// executorNumber is an executor's id as masters write it.
func executorNumber(id string) (uint32, bool) {
	number, err := strconv.ParseUint(id, 10, 32)
	return uint32(number), err == nil
}

func executorID(number uint32) string { return strconv.FormatUint(uint64(number), 10) }

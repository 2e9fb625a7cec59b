// Package remote connects an ApplicationMaster to a driver in another process: the process that
// submitted the application (client mode). Driver is the ApplicationMaster's end of the connection,
// and Manager is the driver's end. They exchange messages over one gRPC stream on the driver's
// port.
//
// When an ApplicationMaster joins, Manager sends it all current requests of the driver, and then
// each change. Driver numbers its reports, and resends them until Manager acknowledges them. So no
// message is lost if the stream breaks or YARN starts another attempt.
package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	// maxReportItems is the maximum number of items in one report, because the driver accepts
	// messages of at most 4 MiB.
	maxReportItems = 1000
	// statusTimeout limits the time for which Status waits for the driver's current status.
	statusTimeout = time.Second
	// stopTimeout limits the time for which Stop waits for the driver, which takes up to 5 s to
	// stop its executors.
	stopTimeout = 10 * time.Second
)

// Driver is the ApplicationMaster's end of the connection to a driver in another process. If the
// connection breaks, Driver reconnects, unless the driver's process has ended. Call SetManager
// before Join, and Stop last.
type Driver struct {
	dialer              dialer
	disconnectIsFailure bool // the application fails if the connection to the driver is lost
	logger              *slog.Logger
	credentials         func(content []byte) error // see ReceiveCredentials
	manager             driver.ClusterManager      // set before Join

	ended      chan struct{} // closed when the driver has ended the application, or the connection to the driver is lost
	connection sync.WaitGroup
	disconnect context.CancelFunc // ends the connection, and the goroutine that Join has started

	mu            sync.Mutex
	outcome       error                 // error of the application; set before ended is closed
	finished      bool                  // the driver has ended the application; false if the connection was lost
	reports       []*wire.ManagerReport // reports that the driver has not acknowledged, in order
	sent          int                   // number of elements of reports that were sent over the current stream
	sequence      uint64                // number of the last report
	requestStatus bool                  // the next message must request the driver's status
	confirmFinish bool                  // the next message must confirm the driver's Finish
	profiles      pprofRequests
	acknowledge   uint64        // version of the delegation tokens to acknowledge; 0 for none
	progress      float32       // latest received progress, from 0 to 1
	status        driver.Status // latest received status
	newStatus     chan struct{} // closed when status is replaced
	snapshots     snapshots
	wake          chan struct{} // contains an element if there is a message to send
}

// Options describe a driver, and the ApplicationMaster that connects to it.
type Options struct {
	Address string         // host:port of the driver
	Pass    *identity.Pass // authenticates the ApplicationMaster to the driver
	Attempt int            // number of the application attempt
	Host    string         // host of the ApplicationMaster
	// NetworkTimeout determines when a silent connection counts as broken: after a quarter of
	// NetworkTimeout, Driver sends a ping, and the answer must arrive within another quarter.
	NetworkTimeout time.Duration
	// DisconnectIsFailure makes the application fail if the connection to the driver is lost after
	// Join. Otherwise the application counts as succeeded.
	DisconnectIsFailure bool
	Logger              *slog.Logger
}

// NewDriver returns a Driver. It does not connect; see [Driver.Join].
func NewDriver(o Options) *Driver {
	return newDriver(dialer{
		address: o.Address,
		pass:    o.Pass,
		hello:   &wire.ManagerHello{Version: wire.Version, Attempt: uint32(o.Attempt), Host: o.Host},
		ping:    o.NetworkTimeout / 4,
		dial: func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	}, o.DisconnectIsFailure, o.Logger)
}

func newDriver(dialer dialer, disconnectIsFailure bool, logger *slog.Logger) *Driver {
	return &Driver{
		dialer: dialer, disconnectIsFailure: disconnectIsFailure, logger: logger, ended: make(chan struct{}), disconnect: func() {},
		newStatus: make(chan struct{}), snapshots: snapshots{next: make(chan struct{})}, wake: make(chan struct{}, 1), credentials: func([]byte) error { return nil },
		profiles: pprofRequests{waiting: map[uint64]chan<- *wire.ManagerProfile{}},
	}
}

// DisconnectedError is the error of an application whose ApplicationMaster cannot connect to the
// driver.
type DisconnectedError struct {
	address string
	joined  bool // the driver was connected before the connection was lost
	cause   error
}

// Unwrap returns the error of the last attempt to connect to the driver.
func (d *DisconnectedError) Unwrap() error { return d.cause }

func (d *DisconnectedError) Error() string {
	if !d.joined {
		return fmt.Sprintf("the driver on %s cannot be reached: %v (client mode: the cluster's nodes must reach the program that submitted the "+
			"application, see driver.host and driver.port; or it has ended already)", d.address, d.cause)
	}
	return fmt.Sprintf("the driver on %s is gone: %v (client mode: the program that submitted the application has ended, "+
		"or its machine cannot be reached any more)", d.address, d.cause)
}

// SetManager sets the cluster manager that executes the driver's orders. Call it first.
func (r *Driver) SetManager(manager driver.ClusterManager) { r.manager = manager }

// ReceiveCredentials sets a function that is called with each version of the delegation tokens that
// the driver sends, encoded as a Hadoop credentials file. Call ReceiveCredentials before Join.
func (r *Driver) ReceiveCredentials(use func(content []byte) error) { r.credentials = use }

// ExecutorLost reports a lost executor to the driver.
func (r *Driver) ExecutorLost(id string, loss driver.Loss) {
	r.addToReport(func(report *wire.ManagerReport) {
		report.Losses = append(report.Losses, &wire.ExecutorLoss{
			ExecutorId: id, Text: strings.ToValidUTF8(loss.Reason, "\uFFFD"), CountsAsFailure: loss.CountsAsFailure,
		})
	})
}

// Decommission reports to the driver that YARN will end the containers of these executors.
func (r *Driver) Decommission(ids []string, notice driver.DecommissionNotice) {
	encoded := &wire.ExecutorNotice{ExecutorIds: ids, Reason: strings.ToValidUTF8(notice.Reason, "\uFFFD"), NodeLeaves: notice.NodeLeaves}
	if !notice.Deadline.IsZero() {
		encoded.Deadline = notice.Deadline.UnixNano()
	}
	r.addToReport(func(report *wire.ManagerReport) { report.Notices = append(report.Notices, encoded) })
}

// addToReport calls add, which changes the next report, and wakes the goroutine that sends reports.
func (r *Driver) addToReport(add func(*wire.ManagerReport)) {
	r.mu.Lock()
	if r.sent == len(r.reports) || isFull(r.reports[len(r.reports)-1]) {
		r.sequence++
		r.reports = append(r.reports, &wire.ManagerReport{Sequence: r.sequence})
	}
	add(r.reports[len(r.reports)-1])
	r.mu.Unlock()
	r.signal()
}

func isFull(report *wire.ManagerReport) bool {
	return len(report.GetLosses())+len(report.GetNotices())+len(report.GetEvents()) >= maxReportItems
}

func (r *Driver) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Progress returns the latest received progress, from 0 to 1.
func (r *Driver) Progress() float32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress
}

// Status requests the driver's status and returns it. If the driver does not answer within
// statusTimeout, Status returns the latest received status.
func (r *Driver) Status() driver.Status {
	r.mu.Lock()
	newStatus := r.newStatus
	r.requestStatus = true
	r.mu.Unlock()
	r.signal()
	timer := time.NewTimer(statusTimeout)
	defer timer.Stop()
	select {
	case <-newStatus:
	case <-r.ended:
	case <-timer.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Join connects to the driver. It returns the lowest executor id that no earlier attempt has used.
// The connection lasts until Stop is called.
func (r *Driver) Join(ctx context.Context) (nextID int, err error) {
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, disconnect) // the end of ctx cancels only the following call of reach
	link, err := r.dialer.reach(connected)
	if !stop() && err == nil {
		link.close()
		err = context.Cause(ctx)
	}
	if err != nil {
		disconnect()
		return 0, err
	}
	r.disconnect = disconnect
	r.handle(link.first)
	r.connection.Go(func() { r.keepConnected(connected, link) })
	return int(link.first.GetWelcome().GetNextExecutorId()), nil
}

// Run waits until the driver ends the application, the connection to the driver is lost, or ctx
// ends. If the application has succeeded, Run returns nil. Otherwise it returns the driver's error,
// the cause of ctx, or a *DisconnectedError. If the connection is lost and
// Options.DisconnectIsFailure is not set, Run returns nil.
func (r *Driver) Run(ctx context.Context) error {
	select {
	case <-r.ended:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.outcome
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop disconnects from the driver. If the driver has ended the application, Stop first confirms
// that no more executors are launched. It then waits until the driver closes the connection, but at
// most stopTimeout.
func (r *Driver) Stop(context.Context) error {
	r.mu.Lock()
	finished := r.finished
	r.confirmFinish = finished
	r.mu.Unlock()
	if finished {
		r.signal()
		timer := time.AfterFunc(stopTimeout, r.disconnect)
		r.connection.Wait()
		timer.Stop()
	}
	r.disconnect()
	r.connection.Wait()
	return nil
}

// end stores the result of the application. Only the first call has an effect.
func (r *Driver) end(outcome error, finished bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.ended:
	default:
		r.outcome, r.finished = outcome, finished
		close(r.ended)
	}
}

// keepConnected exchanges messages with the driver, and reconnects after a broken connection. It
// returns when the application has ended, reconnecting has failed, or ctx has ended.
func (r *Driver) keepConnected(ctx context.Context, link *driverStream) {
	for {
		err := r.exchange(ctx, link)
		link.close()
		select {
		case <-r.ended:
			return
		case <-ctx.Done():
			return
		default:
		}
		r.logger.Warn("lost the connection to the driver, trying again", "driver", r.dialer.address, "error", err)
		if link, err = r.dialer.reach(ctx); err != nil {
			if gone := (*DisconnectedError)(nil); errors.As(err, &gone) {
				gone.joined = true
				if !r.disconnectIsFailure {
					r.logger.Warn("the application counts as succeeded (yarn.am.clientModeTreatDisconnectAsFailed)", "error", err)
					err = nil
				}
			}
			r.end(err, false)
			return
		}
		r.logger.Info("connected to the driver again", "driver", r.dialer.address)
		r.mu.Lock()
		r.sent = 0
		r.mu.Unlock()
		r.handle(link.first)
		r.signal()
	}
}

// exchange sends reports and executes orders until the stream ends. It returns the error of the
// stream.
func (r *Driver) exchange(ctx context.Context, link *driverStream) error {
	received := make(chan error, 1)
	go func() {
		for {
			order, err := link.stream.Recv()
			if err != nil {
				received <- err
				return
			}
			r.handle(order)
		}
	}()
	for {
		select {
		case err := <-received:
			return err
		case <-ctx.Done():
			link.close()
			return <-received
		case <-r.wake:
		}
		for _, report := range r.outgoing() {
			if err := link.stream.Send(report); err != nil {
				link.close()
				return <-received // Recv returns the reason of the failure
			}
		}
	}
}

// outgoing returns the reports that have not been sent over the current stream.
func (r *Driver) outgoing() []*wire.ManagerReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	reports := append([]*wire.ManagerReport(nil), r.reports[r.sent:]...)
	r.sent = len(r.reports)
	if r.requestStatus || r.snapshots.request || r.confirmFinish || r.acknowledge != 0 || len(r.profiles.unsent) > 0 {
		reports = append(reports, &wire.ManagerReport{
			RequestStatus: r.requestStatus, RequestSnapshot: r.snapshots.request, Finishing: r.confirmFinish, CredentialsVersion: r.acknowledge, Profiles: r.profiles.unsent,
		})
		r.requestStatus, r.snapshots.request, r.confirmFinish, r.acknowledge, r.profiles.unsent = false, false, false, 0, nil
	}
	return reports
}

// useCredentials calls the function that ReceiveCredentials has set with new delegation tokens, and
// acknowledges the tokens.
func (r *Driver) useCredentials(credentials *wire.Credentials) {
	if err := r.credentials(credentials.GetContent()); err != nil {
		r.logger.Error("new delegation tokens cannot be used", "version", credentials.GetVersion(), "error", err)
		return
	}
	r.mu.Lock()
	r.acknowledge = credentials.GetVersion()
	r.mu.Unlock()
	r.signal()
}

// handle executes an order of the driver.
func (r *Driver) handle(order *wire.ManagerOrder) {
	if credentials := order.GetCredentials(); credentials != nil {
		r.useCredentials(credentials)
	}
	if order.GetRequest() != nil {
		r.manager.RequestExecutors(decodeRequest(order.GetRequest()))
	}
	if len(order.GetKills()) > 0 {
		r.manager.KillExecutors(order.GetKills())
	}
	for _, id := range order.GetRegistered() {
		r.manager.ExecutorRegistered(id)
	}
	r.mu.Lock()
	for len(r.reports) > 0 && r.reports[0].GetSequence() <= order.GetAcknowledged() {
		r.reports = r.reports[1:]
		r.sent = max(r.sent-1, 0)
	}
	r.progress = order.GetProgress()
	r.profiles.receive(order.GetProfiles())
	if encoded := order.GetSnapshot(); encoded != nil {
		if err := r.snapshots.receive(encoded); err != nil {
			r.logger.Warn("the application's state cannot be read", "error", err)
		}
	}
	if order.GetStatus() != nil {
		status := driver.Status{}
		if err := json.Unmarshal(order.GetStatus(), &status); err != nil {
			r.logger.Warn("the driver's status cannot be read", "error", err)
		} else {
			r.status = status
			close(r.newStatus)
			r.newStatus = make(chan struct{})
		}
	}
	r.mu.Unlock()
	if finish := order.GetFinish(); finish != nil {
		var outcome error
		if !finish.GetSucceeded() {
			outcome = errors.New(finish.GetDiagnostics())
		}
		r.end(outcome, true)
	}
}

package am

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	// mostInReport bounds how much one report tells of: the driver takes
	// messages of 4 MiB.
	mostInReport = 1000
	// lookWait is how long the status page waits for the driver's newest status.
	lookWait = time.Second
	// releaseWait bounds how long the ApplicationMaster waits for the driver to
	// have its executors leave, for which that takes 5 s at the most.
	releaseWait = 10 * time.Second
)

// remote is a driver in another process, the one that submitted the
// application: the ApplicationMaster's end of the link. It comes again after the
// connection broke, unless the driver's process is gone.
type remote struct {
	dialer        dialer
	goneIsFailure bool // whether the application has failed where the driver is gone
	logger        *slog.Logger
	manager       driver.ClusterManager // set before join

	over    chan struct{} // closed when the driver ended the application, or is gone
	keeping sync.WaitGroup
	leave   context.CancelFunc // of what join began

	mu       sync.Mutex
	outcome  error                 // once over is closed
	heard    bool                  // the driver ended the application itself
	reports  []*wire.ManagerReport // not acknowledged
	sent     int                   // of reports, over the stream at hand
	sequence uint64                // of the last report
	look     bool                  // the driver is to be asked for its status
	ending   bool                  // the driver is to be told that its end was heard
	progress float32
	status   driver.Status
	newer    chan struct{} // closed when status is replaced
	ready    chan struct{} // holds a token where there is something to send
}

// buildRemote makes the parts where the driver is in another process.
func (m *master) buildRemote() error {
	address := os.Getenv(launch.EnvDriver)
	secret, ok := m.start.credentials.Secret(launch.SecretDriver)
	if address == "" || !ok {
		return fmt.Errorf("%s=%q: the container's environment and credentials do not tell how to join the driver", launch.EnvDriver, address)
	}
	pass, err := identity.ParsePass(secret)
	if err != nil {
		return err
	}
	remote := newRemote(dialer{
		address: address,
		pass:    pass,
		hello:   &wire.ManagerHello{Version: wire.Version, Attempt: uint32(m.start.attempt.Attempt), Host: m.start.host},
		ping:    config.NetworkTimeout.In(m.start.config) / 4,
		dial: func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	}, config.AMTreatDisconnectAsFailed.In(m.start.config), m.logger)
	m.driver, m.progress, m.join, m.run = remote, remote.Progress, remote.join, remote.run
	return m.buildAllocator(address, secret)
}

func newRemote(dialer dialer, goneIsFailure bool, logger *slog.Logger) *remote {
	return &remote{
		dialer: dialer, goneIsFailure: goneIsFailure, logger: logger, over: make(chan struct{}), leave: func() {},
		newer: make(chan struct{}), ready: make(chan struct{}, 1),
	}
}

// disconnected ends an application whose driver is gone.
type disconnected struct {
	address string
	joined  bool // it was there before
	cause   error
}

// Unwrap gives what ended the last try to reach it.
func (d *disconnected) Unwrap() error { return d.cause }

func (d *disconnected) Error() string {
	if !d.joined {
		return fmt.Sprintf("the driver on %s cannot be reached: %v (client mode: the cluster's nodes must reach the program that submitted the "+
			"application, see driver.host and driver.port; or it has ended already)", d.address, d.cause)
	}
	return fmt.Sprintf("the driver on %s is gone: %v (client mode: the program that submitted the application has ended, "+
		"or its machine cannot be reached any more)", d.address, d.cause)
}

// SetManager implements endpoint. It must come before join.
func (r *remote) SetManager(manager driver.ClusterManager) { r.manager = manager }

// ExecutorLost implements endpoint.
func (r *remote) ExecutorLost(id string, loss driver.Loss) {
	r.report(func(report *wire.ManagerReport) {
		report.Losses = append(report.Losses, &wire.ExecutorLoss{
			ExecutorId: id, Text: strings.ToValidUTF8(loss.Text, "\uFFFD"), CountsAsFailure: loss.CountsAsFailure,
		})
	})
}

// Decommission implements endpoint.
func (r *remote) Decommission(ids []string, notice driver.Notice) {
	encoded := &wire.ExecutorNotice{ExecutorIds: ids, Reason: strings.ToValidUTF8(notice.Reason, "\uFFFD")}
	if !notice.Deadline.IsZero() {
		encoded.Deadline = notice.Deadline.UnixNano()
	}
	r.report(func(report *wire.ManagerReport) { report.Notices = append(report.Notices, encoded) })
}

// report adds to the report that goes next.
func (r *remote) report(add func(*wire.ManagerReport)) {
	r.mu.Lock()
	if r.sent == len(r.reports) || full(r.reports[len(r.reports)-1]) {
		r.sequence++
		r.reports = append(r.reports, &wire.ManagerReport{Sequence: r.sequence})
	}
	add(r.reports[len(r.reports)-1])
	r.mu.Unlock()
	r.signal()
}

func full(report *wire.ManagerReport) bool {
	return len(report.GetLosses())+len(report.GetNotices()) >= mostInReport
}

func (r *remote) signal() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// Progress is how much of the known work is done, 0 to 1.
func (r *remote) Progress() float32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress
}

// Status implements endpoint: the driver's status as it is now, or as it was
// last heard of where it does not answer soon.
func (r *remote) Status() driver.Status {
	r.mu.Lock()
	newer := r.newer
	r.look = true
	r.mu.Unlock()
	r.signal()
	timer := time.NewTimer(lookWait)
	defer timer.Stop()
	select {
	case <-newer:
	case <-r.over:
	case <-timer.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// join reaches the driver, and returns the first id that no executor has had.
// The link is kept until Stop.
func (r *remote) join(ctx context.Context) (nextID int, err error) {
	keeping, leave := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, leave) // until it stands
	link, err := r.dialer.reach(keeping)
	if !stop() && err == nil {
		link.close()
		err = context.Cause(ctx)
	}
	if err != nil {
		leave()
		return 0, err
	}
	r.leave = leave
	r.take(link.first)
	r.keeping.Go(func() { r.keep(keeping, link) })
	return int(link.first.GetWelcome().GetNextExecutorId()), nil
}

// run waits until the driver ends the application, or is gone for good, and
// returns why it failed, nil where it succeeded.
func (r *remote) run(ctx context.Context) error {
	select {
	case <-r.over:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.outcome
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop implements endpoint: where the driver ended the application, it has its
// executors leave as soon as it knows that no others are launched.
func (r *remote) Stop(context.Context) error {
	r.mu.Lock()
	heard := r.heard
	r.ending = heard
	r.mu.Unlock()
	if heard {
		r.signal()
		late := time.AfterFunc(releaseWait, r.leave)
		r.keeping.Wait()
		late.Stop()
	}
	r.leave()
	r.keeping.Wait()
	return nil
}

// end notes how the application ended, once.
func (r *remote) end(outcome error, heard bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.over:
	default:
		r.outcome, r.heard = outcome, heard
		close(r.over)
	}
}

// keep serves the link, and makes it again while the driver may be there.
func (r *remote) keep(ctx context.Context, link *link) {
	for {
		err := r.exchange(ctx, link)
		link.close()
		select {
		case <-r.over:
			return // the driver leaves
		case <-ctx.Done():
			return
		default:
		}
		r.logger.Warn("lost the connection to the driver, trying again", "driver", r.dialer.address, "error", err)
		if link, err = r.dialer.reach(ctx); err != nil {
			if gone := (*disconnected)(nil); errors.As(err, &gone) {
				gone.joined = true
				if !r.goneIsFailure {
					r.logger.Warn("the application counts as succeeded (yarn.am.clientModeTreatDisconnectAsFailed)", "error", err)
					err = nil
				}
			}
			r.end(err, false)
			return
		}
		r.logger.Info("the driver is there again", "driver", r.dialer.address)
		r.mu.Lock()
		r.sent = 0
		r.mu.Unlock()
		r.take(link.first)
		r.signal()
	}
}

// exchange sends what there is and takes what comes until the stream ends.
func (r *remote) exchange(ctx context.Context, link *link) error {
	received := make(chan error, 1)
	go func() {
		for {
			order, err := link.stream.Recv()
			if err != nil {
				received <- err
				return
			}
			r.take(order)
		}
	}()
	for {
		select {
		case err := <-received:
			return err
		case <-ctx.Done():
			link.close()
			return <-received
		case <-r.ready:
		}
		for _, report := range r.outgoing() {
			if err := link.stream.Send(report); err != nil {
				link.close()
				return <-received // it tells why
			}
		}
	}
}

// outgoing is what has not been sent over the stream at hand.
func (r *remote) outgoing() []*wire.ManagerReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	reports := append([]*wire.ManagerReport(nil), r.reports[r.sent:]...)
	r.sent = len(r.reports)
	if r.look || r.ending {
		reports = append(reports, &wire.ManagerReport{RequestStatus: r.look, Finishing: r.ending})
		r.look, r.ending = false, false
	}
	return reports
}

// take does what the driver orders.
func (r *remote) take(order *wire.ManagerOrder) {
	if order.GetRequest() != nil {
		r.manager.RequestExecutors(driver.DecodeRequest(order.GetRequest()))
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
	if order.GetStatus() != nil {
		status := driver.Status{}
		if err := json.Unmarshal(order.GetStatus(), &status); err != nil {
			r.logger.Warn("the driver's status cannot be read", "error", err)
		} else {
			r.status = status
			close(r.newer)
			r.newer = make(chan struct{})
		}
	}
	r.mu.Unlock()
	if finish := order.GetFinish(); finish != nil {
		var outcome error
		if !finish.GetSucceeded() {
			outcome = &userFunction{errors.New(finish.GetDiagnostics())}
		}
		r.end(outcome, true)
	}
}

package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	// reportTimeout is how long a disconnected ApplicationMaster may take to reconnect and report
	// why executors have ended. After that, Manager assumes that YARN has ended these executors
	// together with the ApplicationMaster. reportTimeout is shorter than the driver's wait for the
	// reason of a loss. After that wait, the loss would count as a failure of the executor's tasks.
	reportTimeout = 5 * time.Second
	// orphanInterval is the interval at which giveUpOrphans is called after reportTimeout.
	orphanInterval = time.Second
	// orphanTimeout is the time after the disconnection at which Manager reports all executors as
	// lost, even those that are still running. By then, an ApplicationMaster has stopped trying to
	// reconnect.
	orphanTimeout = 15 * time.Second
)

// errReplaced is the error of a stream that ends because a newer stream has replaced it.
var errReplaced = errors.New("another stream of the ApplicationMaster has replaced this one")

// Manager is the driver.ClusterManager of a driver in client mode. Set driver.Options.Manager to
// it, and call Register in the function driver.Options.Services.
type Manager struct {
	logger   *slog.Logger
	driver   *driver.Driver // set by Register
	finished chan struct{}  // closed when an ApplicationMaster has confirmed Finish

	mu         sync.Mutex
	stream     *managerStream // nil if no ApplicationMaster is connected
	lastStream *managerStream // stream that was detached last
	attempt    uint32         // newest attempt that has connected; 0 for none
	received   uint64         // number of the last report received from the attempt
	request    *wire.ExecutorRequest
	registered map[string]struct{} // ids of executors that have registered and are not known to be lost
	kills      map[string]struct{} // ids of executors that must be killed and are not known to be lost
	maxID      int                 // largest executor id so far
	maxTotal   int                 // largest number of executors in a request so far
	finish     *wire.Finish        // result of the application; nil until it ends
	// credentials are the newest delegation tokens; nil if there are none.
	credentials *wire.Credentials
	orphans     *time.Timer // timer that calls giveUpOrphans; nil before the first disconnection
}

// managerStream is one stream from an ApplicationMaster.
type managerStream struct {
	attempt     uint32
	end         context.CancelCauseFunc
	wake        chan struct{}      // contains an element if there is a message to send
	pending     *wire.ManagerOrder // order to send; nil for none
	askStatus   bool               // the ApplicationMaster has requested the driver's status
	askSnapshot bool               // the ApplicationMaster has requested a snapshot of the application's state
	profiles    []*wire.ManagerProfileRequest
}

// NewManager returns a Manager. logger may be nil.
func NewManager(logger *slog.Logger) *Manager {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Manager{
		logger:     logger,
		finished:   make(chan struct{}),
		registered: map[string]struct{}{},
		kills:      map[string]struct{}{},
	}
}

// RequestExecutors implements driver.ClusterManager.
func (m *Manager) RequestExecutors(request driver.Request) {
	encoded := encodeRequest(request)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.request, m.maxTotal = encoded, max(m.maxTotal, request.Total())
	m.addToOrder(func(order *wire.ManagerOrder) { order.Request = encoded })
}

// KillExecutors implements driver.ClusterManager.
func (m *Manager) KillExecutors(ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		m.kills[id] = struct{}{}
	}
	m.addToOrder(func(order *wire.ManagerOrder) { order.Kills = append(order.Kills, ids...) })
}

// ExecutorRegistered implements driver.ClusterManager.
func (m *Manager) ExecutorRegistered(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.registered[id] = struct{}{}
	m.countID(id)
	m.addToOrder(func(order *wire.ManagerOrder) { order.Registered = append(order.Registered, id) })
}

// SetCredentials sends delegation tokens of file systems, encoded as a Hadoop credentials file, to
// the ApplicationMaster. They replace the tokens of earlier calls. An ApplicationMaster that
// connects later also receives them.
func (m *Manager) SetCredentials(content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.credentials = &wire.Credentials{Version: m.credentials.GetVersion() + 1, Content: content}
	m.addToOrder(func(order *wire.ManagerOrder) { order.Credentials = m.credentials })
}

// Finish sends the result of the application to the ApplicationMaster. failure is the error of the
// application; nil if it succeeded. Finish returns nil when an ApplicationMaster has confirmed that
// it launches no more executors. If ctx ends first, Finish returns the cause of ctx. After Finish
// has returned, the caller must stop the driver.
func (m *Manager) Finish(ctx context.Context, failure error) error {
	finish := &wire.Finish{Succeeded: failure == nil}
	if failure != nil {
		finish.Diagnostics = strings.ToValidUTF8(failure.Error(), "\uFFFD")
	}
	m.mu.Lock()
	m.finish = finish
	m.addToOrder(func(order *wire.ManagerOrder) { order.Finish = finish })
	m.mu.Unlock()
	select {
	case <-m.finished:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hasFinished reports whether Finish was called.
func (m *Manager) hasFinished() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.finish != nil
}

// addToOrder calls add, which changes the next order, if an ApplicationMaster is connected.
// Otherwise it does nothing, because attach sends the whole state to the next ApplicationMaster.
// The caller holds mu.
func (m *Manager) addToOrder(add func(*wire.ManagerOrder)) {
	if m.stream == nil {
		return
	}
	if m.stream.pending == nil {
		m.stream.pending = &wire.ManagerOrder{}
	}
	add(m.stream.pending)
	m.stream.signal()
}

func (l *managerStream) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// countID sets maxID to the id of an executor if this id is larger. The caller holds mu.
func (m *Manager) countID(id string) {
	if number, err := strconv.Atoi(id); err == nil {
		m.maxID = max(m.maxID, number)
	}
}

// attach makes a new stream of an ApplicationMaster the current stream, and queues an order with
// the whole state for it. It fails if the ApplicationMaster has another protocol version, or if a
// later attempt has already connected.
func (m *Manager) attach(hello *wire.ManagerHello, end context.CancelCauseFunc) (*managerStream, error) {
	if hello.GetVersion() != wire.Version {
		return nil, fmt.Errorf("the ApplicationMaster speaks version %d of the protocol and the driver version %d: both must be of the same binary",
			hello.GetVersion(), wire.Version)
	}
	var lost []string
	defer func() { m.reportLost(lost) }()
	m.mu.Lock()
	defer m.mu.Unlock()
	if hello.GetAttempt() < m.attempt {
		return nil, fmt.Errorf("attempt %d of the application has taken the place of attempt %d", m.attempt, hello.GetAttempt())
	}
	if m.stream != nil {
		m.stream.end(errReplaced)
	}
	if m.orphans != nil {
		m.orphans.Stop()
	}
	if hello.GetAttempt() > m.attempt {
		if m.attempt != 0 {
			lost = slices.Sorted(maps.Keys(m.registered))
			clear(m.registered)
			clear(m.kills)
			// The earlier attempt may have launched executors that have not registered, at most as
			// many as the largest request. Skip their ids.
			m.maxID += m.maxTotal
		}
		m.attempt, m.received = hello.GetAttempt(), 0
	}
	m.stream = &managerStream{attempt: hello.GetAttempt(), end: end, wake: make(chan struct{}, 1)}
	m.addToOrder(func(order *wire.ManagerOrder) {
		order.Welcome = &wire.ManagerWelcome{NextExecutorId: uint32(m.maxID + 1)}
		order.Acknowledged = m.received
		order.Request = m.request
		order.Kills = slices.Sorted(maps.Keys(m.kills))
		order.Registered = slices.Sorted(maps.Keys(m.registered))
		order.Finish = m.finish
		order.Credentials = m.credentials
	})
	m.logger.Info("the ApplicationMaster has joined", "host", hello.GetHost(), "attempt", hello.GetAttempt())
	return m.stream, nil
}

// detach removes a stream that has ended. If it was the current stream and the application has not
// ended, detach schedules giveUpOrphans after reportTimeout.
func (m *Manager) detach(link *managerStream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stream != link {
		return
	}
	m.stream, m.lastStream = nil, link
	if m.finish != nil {
		return
	}
	m.logger.Warn("lost the ApplicationMaster; it may reconnect, or YARN may start another attempt", "attempt", link.attempt)
	since := time.Now()
	m.orphans = time.AfterFunc(reportTimeout, func() { m.giveUpOrphans(link, since) })
}

// giveUpOrphans reports executors as lost because their ApplicationMaster has been disconnected
// since the given time. Until orphanTimeout has passed, it reports only executors that the driver
// already considers lost. After that, it reports all executors.
func (m *Manager) giveUpOrphans(link *managerStream, since time.Time) {
	live := map[string]struct{}{}
	if time.Since(since) < orphanTimeout {
		for _, executor := range m.driver.Status().Executors {
			if executor.State != driver.ExecutorStateLost {
				live[executor.ID] = struct{}{}
			}
		}
	}
	m.mu.Lock()
	var lost []string
	if m.stream == nil && m.lastStream == link {
		for id := range m.registered {
			if _, ok := live[id]; !ok {
				lost = append(lost, id)
				delete(m.registered, id)
			}
		}
		if len(m.registered) > 0 {
			m.orphans = time.AfterFunc(orphanInterval, func() { m.giveUpOrphans(link, since) })
		}
	}
	m.mu.Unlock()
	m.reportLost(lost)
}

// reportLost reports lost executors to the driver. The caller must not hold mu, because the
// driver's event loop may wait for mu.
func (m *Manager) reportLost(ids []string) {
	for _, id := range ids {
		m.driver.ExecutorLost(id, driver.Loss{Reason: "was ended by YARN with the ApplicationMaster that had launched it"})
	}
}

// handle processes a report. It ignores reports if link is not the current stream.
func (m *Manager) handle(link *managerStream, report *wire.ManagerReport) {
	m.mu.Lock()
	if m.stream != link {
		m.mu.Unlock()
		return
	}
	if report.GetRequestStatus() {
		link.askStatus = true
		link.signal()
	}
	if report.GetRequestSnapshot() {
		link.askSnapshot = true
		link.signal()
	}
	if requests := report.GetProfiles(); len(requests) > 0 {
		link.profiles = append(link.profiles, requests...)
		link.signal()
	}
	if report.GetFinishing() {
		select {
		case <-m.finished:
		default:
			close(m.finished)
		}
	}
	if version := report.GetCredentialsVersion(); version != 0 && version == m.credentials.GetVersion() {
		m.logger.Info("the ApplicationMaster has the newest delegation tokens", "version", version)
	}
	repeated := report.GetSequence() <= m.received
	if !repeated {
		m.received = report.GetSequence()
		m.addToOrder(func(order *wire.ManagerOrder) { order.Acknowledged = m.received })
		for _, loss := range report.GetLosses() {
			delete(m.registered, loss.GetExecutorId())
			delete(m.kills, loss.GetExecutorId())
			m.countID(loss.GetExecutorId())
		}
	}
	m.mu.Unlock()
	if repeated {
		return
	}
	for _, loss := range report.GetLosses() {
		m.driver.ExecutorLost(loss.GetExecutorId(), driver.Loss{Reason: loss.GetText(), CountsAsFailure: loss.GetCountsAsFailure()})
	}
	for _, encoded := range report.GetEvents() {
		event, err := decodeEvent(encoded)
		if err != nil {
			m.logger.Warn("an event of the ApplicationMaster cannot be read", "error", err)
			continue
		}
		m.driver.Events().Record(event)
	}
	for _, notice := range report.GetNotices() {
		m.driver.Decommission(notice.GetExecutorIds(), decodeNotice(notice))
	}
}

// takePending removes and returns the order to send; nil for none. withStatus and withSnapshot
// report whether the order must contain the driver's status and a snapshot of the application's
// state.
func (m *Manager) takePending(link *managerStream) (order *wire.ManagerOrder, withStatus, withSnapshot bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	order, link.pending = link.pending, nil
	withStatus, link.askStatus = link.askStatus || order.GetFinish() != nil, false
	withSnapshot, link.askSnapshot = link.askSnapshot, false
	if order == nil && (withStatus || withSnapshot) {
		order = &wire.ManagerOrder{}
	}
	return order, withStatus, withSnapshot
}

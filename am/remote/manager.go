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
	// reportTimeout is how long a disconnected ApplicationMaster may take to reconnect and
	// report why executors have ended. After that, YARN is assumed to have ended these
	// executors together with the ApplicationMaster. The timeout is shorter than the
	// driver's wait for the reason of a loss, after which the loss would count as a failure
	// of the executor's tasks.
	reportTimeout = 5 * time.Second
	// orphanInterval is how often giveUpOrphans is called once reportTimeout has passed.
	orphanInterval = time.Second
	// orphanTimeout is how long after the disconnection all executors are given up, even
	// those that still run. An ApplicationMaster stops trying to reconnect before that.
	orphanTimeout = 15 * time.Second
)

// errReplaced is the error of a stream that ends because a later stream was attached.
var errReplaced = errors.New("another stream of the ApplicationMaster has replaced this one")

// Manager is the driver.ClusterManager of a driver in client mode. It must be
// Manager in driver.Options, and the function Services there must call Register.
type Manager struct {
	logger   *slog.Logger
	driver   *driver.Driver // set by Register
	finished chan struct{}  // closed when an ApplicationMaster has confirmed Finish

	mu         sync.Mutex
	stream     *managerStream // nil if no ApplicationMaster is connected
	lastStream *managerStream // the stream that was detached last
	attempt    uint32         // the newest attempt that has joined; 0 for none
	received   uint64         // the sequence number of the last report from the attempt
	request    *wire.ExecutorRequest
	registered map[string]struct{} // ids of executors that have registered and are not known to be lost
	kills      map[string]struct{} // ids of executors that are to be killed and are not known to be lost
	maxID      int                 // the largest executor id
	maxTotal   int                 // the largest number of executors in a request
	finish     *wire.Finish        // nil until the application ends
	// credentials are the newest delegation tokens; nil if there are none.
	credentials *wire.Credentials
	orphans     *time.Timer // calls giveUpOrphans; nil before the first disconnection
}

// managerStream is one stream of an ApplicationMaster.
type managerStream struct {
	attempt   uint32
	end       context.CancelCauseFunc
	wake      chan struct{}      // holds a token if there is something to send
	pending   *wire.ManagerOrder // to be sent; nil for nothing
	askStatus bool               // the ApplicationMaster has asked for the driver's status
	askState  bool               // the ApplicationMaster has asked for the application's state
	profiles  []*wire.ManagerProfileRequest
}

// NewManager makes a manager. logger may be nil.
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

// SetCredentials sends the ApplicationMaster delegation tokens of file systems, encoded
// as a credentials file of Hadoop. They replace the tokens of earlier calls. An
// ApplicationMaster that joins later also gets them.
func (m *Manager) SetCredentials(content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.credentials = &wire.Credentials{Version: m.credentials.GetVersion() + 1, Content: content}
	m.addToOrder(func(order *wire.ManagerOrder) { order.Credentials = m.credentials })
}

// Finish tells the ApplicationMaster that the application succeeded or, if failure is not
// nil, failed with failure as the diagnostics. It returns nil when an ApplicationMaster has
// confirmed that it launches no more executors, or the cause of ctx when ctx ends. The
// caller must then stop the driver.
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

// addToOrder calls add on the next order if an ApplicationMaster is connected. Otherwise it
// does nothing, because attach sends everything to the ApplicationMaster that joins next.
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

// countID raises maxID to an executor's id, if that is larger. The caller holds mu.
func (m *Manager) countID(id string) {
	if number, err := strconv.Atoi(id); err == nil {
		m.maxID = max(m.maxID, number)
	}
}

// attach makes an ApplicationMaster's stream the current one, and queues everything
// that it must know. It fails for another protocol version or an earlier attempt.
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
			// The earlier attempt may have launched executors that never registered, at most
			// as many as the largest request wanted. Skip their ids.
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

// detach ends a stream. If it was the current stream, giveUpOrphans is called after
// reportTimeout, unless the application has ended.
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

// giveUpOrphans reports executors as lost whose ApplicationMaster has been disconnected
// since the given time: those that the driver has lost already and, once orphanTimeout has
// passed, all.
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

// reportLost reports lost executors. The caller must not hold mu, for which the
// driver's event loop may wait.
func (m *Manager) reportLost(ids []string) {
	for _, id := range ids {
		m.driver.ExecutorLost(id, driver.Loss{Reason: "was ended by YARN with the ApplicationMaster that had launched it"})
	}
}

// handle acts on a report, unless link is not the current stream.
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
		link.askState = true
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

// takePending removes and returns the order to send, nil for none, and reports whether to
// add the driver's status and the application's state to the order.
func (m *Manager) takePending(link *managerStream) (order *wire.ManagerOrder, withStatus, withState bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	order, link.pending = link.pending, nil
	withStatus, link.askStatus = link.askStatus || order.GetFinish() != nil, false
	withState, link.askState = link.askState, false
	if order == nil && (withStatus || withState) {
		order = &wire.ManagerOrder{}
	}
	return order, withStatus, withState
}

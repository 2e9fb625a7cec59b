package driver

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

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	// explainAfter is how long an ApplicationMaster that is not heard of any more
	// has to say why its executors ended. YARN ends them with it, so that is then
	// taken to be the reason. It is shorter than explanationWait, so that tasks are
	// not blamed for it.
	explainAfter = 5 * time.Second
	// explainAgain is between two looks at which executors have ended since.
	explainAgain = time.Second
	// orphanAfter is when the executors that live on are given up: an
	// ApplicationMaster that could not reach the driver has given up before.
	orphanAfter = 15 * time.Second
)

// errReplaced ends the stream of an ApplicationMaster that another has come for.
var errReplaced = errors.New("a later stream has taken this one's place")

// RemoteManager is the cluster manager of a driver that runs in client mode:
// the ApplicationMaster is another process, which joins the driver on the port
// of the executors. It may break its connection and come again, and when it
// ends YARN may start another attempt of it: what the driver wants is kept
// here, and told to whoever comes next.
type RemoteManager struct {
	logger *slog.Logger
	driver *Driver       // set by New
	ended  chan struct{} // closed when an ApplicationMaster has heard of the end

	mu       sync.Mutex
	link     *managerLink // of the ApplicationMaster that is there; nil for none
	lastLink *managerLink // that has ended last
	attempt  uint32       // the newest that has come
	received uint64       // the sequence of its last report
	request  *wire.ExecutorRequest
	alive    map[string]struct{} // executors that have registered
	kills    map[string]struct{} // executors to end that are not known to be lost
	highest  int                 // of all executors' ids
	largest  int                 // of all requests' totals
	finish   *wire.Finish        // nil until the application ends
	orphans  *time.Timer
}

// managerLink is one stream.
type managerLink struct {
	attempt uint32
	end     context.CancelCauseFunc
	ready   chan struct{}      // holds a token where pending has something
	pending *wire.ManagerOrder // nil where there is nothing to send
	look    bool               // the status was asked for
}

// NewRemoteManager makes a manager for the Remote of a driver's Options. logger
// may be nil.
func NewRemoteManager(logger *slog.Logger) *RemoteManager {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &RemoteManager{
		logger: logger,
		ended:  make(chan struct{}),
		alive:  map[string]struct{}{},
		kills:  map[string]struct{}{},
	}
}

// RequestExecutors implements ClusterManager.
func (m *RemoteManager) RequestExecutors(request Request) {
	encoded := encodeRequest(request)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.request, m.largest = encoded, max(m.largest, request.Total())
	m.send(func(order *wire.ManagerOrder) { order.Request = encoded })
}

// KillExecutors implements ClusterManager.
func (m *RemoteManager) KillExecutors(ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		m.kills[id] = struct{}{}
	}
	m.send(func(order *wire.ManagerOrder) { order.Kills = append(order.Kills, ids...) })
}

// ExecutorRegistered implements ClusterManager.
func (m *RemoteManager) ExecutorRegistered(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alive[id] = struct{}{}
	m.seen(id)
	m.send(func(order *wire.ManagerOrder) { order.Registered = append(order.Registered, id) })
}

// Finish has the ApplicationMaster tell the ResourceManager how the application
// ended, failed where failure is not nil: its text is then the diagnostics. It
// returns when an ApplicationMaster has heard of it and launches no executor
// any more, or with ctx's cause. The executors are to be stopped then.
func (m *RemoteManager) Finish(ctx context.Context, failure error) error {
	finish := &wire.Finish{Succeeded: failure == nil}
	if failure != nil {
		finish.Diagnostics = strings.ToValidUTF8(failure.Error(), "\uFFFD")
	}
	m.mu.Lock()
	m.finish = finish
	m.send(func(order *wire.ManagerOrder) { order.Finish = finish })
	m.mu.Unlock()
	select {
	case <-m.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send adds to what goes to the ApplicationMaster next; one that is not there
// is told when it comes. The caller holds mu.
func (m *RemoteManager) send(add func(*wire.ManagerOrder)) {
	if m.link == nil {
		return
	}
	if m.link.pending == nil {
		m.link.pending = &wire.ManagerOrder{}
	}
	add(m.link.pending)
	m.link.signal()
}

func (l *managerLink) signal() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// seen keeps track of the ids in use. The caller holds mu.
func (m *RemoteManager) seen(id string) {
	if number, err := strconv.Atoi(id); err == nil {
		m.highest = max(m.highest, number)
	}
}

// attach makes a stream the one that counts, and leaves everything that an
// ApplicationMaster must know to be sent over it.
func (m *RemoteManager) attach(hello *wire.ManagerHello, end context.CancelCauseFunc) (*managerLink, error) {
	if hello.GetVersion() != wire.Version {
		return nil, fmt.Errorf("the ApplicationMaster speaks version %d of the protocol and the driver version %d: both must be of the same binary",
			hello.GetVersion(), wire.Version)
	}
	var lost []string
	defer func() { m.tellLost(lost) }()
	m.mu.Lock()
	defer m.mu.Unlock()
	if hello.GetAttempt() < m.attempt {
		return nil, fmt.Errorf("attempt %d of the application has taken the place of attempt %d", m.attempt, hello.GetAttempt())
	}
	if m.link != nil {
		m.link.end(errReplaced)
	}
	if m.orphans != nil {
		m.orphans.Stop()
	}
	if hello.GetAttempt() > m.attempt {
		if m.attempt != 0 {
			lost = m.loseAll()
			// Executors of the earlier attempt that nobody has heard of were asked
			// for by then, so there are no more of them than the largest request.
			m.highest += m.largest
		}
		m.attempt, m.received = hello.GetAttempt(), 0
	}
	m.link = &managerLink{attempt: hello.GetAttempt(), end: end, ready: make(chan struct{}, 1)}
	m.send(func(order *wire.ManagerOrder) {
		order.Welcome = &wire.ManagerWelcome{NextExecutorId: uint32(m.highest + 1)}
		order.Acknowledged = m.received
		order.Request = m.request
		order.Kills = slices.Sorted(maps.Keys(m.kills))
		order.Registered = slices.Sorted(maps.Keys(m.alive))
		order.Finish = m.finish
	})
	m.logger.Info("the ApplicationMaster has joined", "host", hello.GetHost(), "attempt", hello.GetAttempt())
	return m.link, nil
}

// detach notes the end of a stream.
func (m *RemoteManager) detach(link *managerLink) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.link != link {
		return
	}
	m.link, m.lastLink = nil, link
	if m.finish != nil {
		return
	}
	m.logger.Warn("lost the ApplicationMaster; it may come again, or YARN start another attempt", "attempt", link.attempt)
	gone := time.Now()
	m.orphans = time.AfterFunc(explainAfter, func() { m.orphaned(link, gone) })
}

// orphaned gives up executors of an ApplicationMaster that has been gone for a
// while: those that have ended, and after a while longer all.
func (m *RemoteManager) orphaned(link *managerLink, gone time.Time) {
	live := map[string]struct{}{}
	if time.Since(gone) < orphanAfter {
		for _, executor := range m.driver.Status().Executors {
			if executor.State != ExecutorLost {
				live[executor.ID] = struct{}{}
			}
		}
	}
	m.mu.Lock()
	var lost []string
	if m.link == nil && m.lastLink == link {
		for id := range m.alive {
			if _, ok := live[id]; !ok {
				lost = append(lost, id)
				delete(m.alive, id)
			}
		}
		if len(m.alive) > 0 {
			m.orphans = time.AfterFunc(explainAgain, func() { m.orphaned(link, gone) })
		}
	}
	m.mu.Unlock()
	m.tellLost(lost)
}

// loseAll gives up the executors of an ApplicationMaster that is gone, and
// returns their ids. The caller holds mu, and tells the driver without it: the
// driver's loop may be waiting for it.
func (m *RemoteManager) loseAll() []string {
	lost := slices.Sorted(maps.Keys(m.alive))
	clear(m.alive)
	clear(m.kills)
	return lost
}

func (m *RemoteManager) tellLost(ids []string) {
	for _, id := range ids {
		m.driver.ExecutorLost(id, Loss{Text: "was ended by YARN with the ApplicationMaster that had launched it"})
	}
}

// heard acts on a report.
func (m *RemoteManager) heard(link *managerLink, report *wire.ManagerReport) {
	m.mu.Lock()
	if m.link != link {
		m.mu.Unlock()
		return
	}
	if report.GetRequestStatus() {
		link.look = true
		link.signal()
	}
	if report.GetFinishing() {
		select {
		case <-m.ended:
		default:
			close(m.ended)
		}
	}
	again := report.GetSequence() <= m.received
	if !again {
		m.received = report.GetSequence()
		m.send(func(order *wire.ManagerOrder) { order.Acknowledged = m.received })
		for _, loss := range report.GetLosses() {
			delete(m.alive, loss.GetExecutorId())
			delete(m.kills, loss.GetExecutorId())
			m.seen(loss.GetExecutorId())
		}
	}
	m.mu.Unlock()
	if again {
		return
	}
	for _, loss := range report.GetLosses() {
		m.driver.ExecutorLost(loss.GetExecutorId(), Loss{Text: loss.GetText(), CountsAsFailure: loss.GetCountsAsFailure()})
	}
	for _, notice := range report.GetNotices() {
		m.driver.Decommission(notice.GetExecutorIds(), decodeNotice(notice))
	}
}

// take returns what is to be sent, or nil, and whether the status is to go
// with it.
func (m *RemoteManager) take(link *managerLink) (order *wire.ManagerOrder, status bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	order, link.pending = link.pending, nil
	status, link.look = link.look || order.GetFinish() != nil, false
	if order == nil && status {
		order = &wire.ManagerOrder{}
	}
	return order, status
}

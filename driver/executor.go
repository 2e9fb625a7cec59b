package driver

import (
	"fmt"
	"time"

	scheduler "github.com/bobbin-yarn/bobbin/driver/provisional"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// executor is one that is registered.
type executor struct {
	id         string
	host       string
	cores      int
	logURLs    map[string]string
	link       *link
	outgoing   *wire.DriverMessage // of this turn
	attempts   map[uint64]*attempt // that it runs
	registered time.Time
	lastHeard  time.Time
	resident   uint64
	done       int // tasks
	failed     int // attempts
}

func (e *executor) String() string { return fmt.Sprintf("executor %s (%s)", e.id, e.host) }

// register takes an executor in, or says why not.
func (l *loop) register(from *link, r *wire.Register) {
	id := r.GetExecutorId()
	refused := ""
	switch {
	case from.executor != nil:
		refused = "it is registered already"
	case id == "" || r.GetHost() == "":
		refused = "it does not say its id and its host"
	case r.GetCores() == 0:
		refused = "it has no cores"
	case r.GetResourceProfile() != 0:
		refused = fmt.Sprintf("its resource profile %d is unknown", r.GetResourceProfile())
	case l.executors[id] != nil:
		refused = fmt.Sprintf("an executor of that id is registered already, on %s", l.executors[id].host)
	case l.d.options.Excluded(r.GetHost()):
		refused = fmt.Sprintf("node %s is excluded", r.GetHost())
	case l.stopping:
		refused = "the application ends"
	}
	if refused != "" {
		l.logger.Warn("executor refused", "executor", id, "host", r.GetHost(), "reason", refused)
		if from.executor == nil {
			from.out.put(&wire.DriverMessage{Refused: &wire.Refused{Reason: refused}})
			from.out.close(nil)
		}
		return
	}
	e := &executor{
		id: id, host: r.GetHost(), cores: int(r.GetCores()), logURLs: r.GetLogUrls(),
		link: from, attempts: map[uint64]*attempt{}, registered: l.now, lastHeard: l.now,
	}
	from.executor = e
	l.executors[id] = e
	l.scheduler.AddExecutor(scheduler.Executor{ID: id, Host: e.host, Cores: e.cores}, l.now)
	l.outgoing(e).Registered = &wire.Registered{}
	l.demand.changed = true
	l.logger.Info("executor registered", "executor", id, "host", e.host, "cores", e.cores)
}

// heard takes what an executor says.
func (l *loop) heard(e *executor, message *wire.ExecutorMessage) {
	e.lastHeard = l.now
	if heartbeat := message.GetHeartbeat(); heartbeat != nil {
		e.resident = heartbeat.GetResidentBytes()
	}
	for _, update := range message.GetUpdates() {
		// An attempt that is not this executor's was given up before: its last
		// word came too late, or came twice.
		if a := e.attempts[update.GetAttempt()]; a != nil {
			l.update(a, update)
		}
	}
}

// streamEnded is the end of a link, said by both of its goroutines.
func (l *loop) streamEnded(from *link, reason error) {
	from.out.close(nil)
	e := from.executor
	if e == nil {
		return
	}
	text := fmt.Sprintf("lost its stream to the driver: %v", reason)
	if l.stopping || l.demand.manager == nil {
		l.lose(e, Loss{Text: text, CountsAsFailure: true})
		return
	}
	l.awaitExplanation(e, text, l.lose(e, Loss{Text: text}))
}

// lose takes an executor out and gives its tasks back to the scheduler. It
// returns the tasks that ran there where the loss does not count as their
// failure.
func (l *loop) lose(e *executor, loss Loss) []lostTask {
	delete(l.executors, e.id)
	e.link.executor = nil
	e.link.out.close(fmt.Errorf("executor %s: %s", e.id, loss.Text))
	if l.stopping {
		l.logger.Debug("executor left", "executor", e.id)
	} else {
		l.logger.Warn("executor lost", "executor", e.id, "host", e.host, "reason", loss.Text, "tasks", len(e.attempts))
	}
	l.history.lost(e, loss.Text, l.now)
	lost := make([]lostTask, 0, len(e.attempts))
	for _, a := range e.attempts {
		delete(l.attempts, a.number)
		a.run.running--
		lost = append(lost, lostTask{run: a.run, index: a.index})
	}
	for _, r := range l.runs {
		delete(r.sentTo, e)
	}
	l.scheduler.RemoveExecutor(e.id, l.now)
	l.demand.changed = true
	l.noteEmpty()
	if loss.CountsAsFailure {
		l.charge(e, loss.Text, lost)
	}
	return lost
}

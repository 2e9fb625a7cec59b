package cluster

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// ApplicationState is the state of an application.
type ApplicationState string

const (
	// ApplicationWaiting: the application's driver is attached (has a stream to this master),
	// but the application has no executor.
	ApplicationWaiting ApplicationState = "WAITING"
	ApplicationRunning ApplicationState = "RUNNING"
	// ApplicationUnknown: the application is in the store or a worker has reported it, but it
	// has not attached to this master.
	ApplicationUnknown  ApplicationState = "UNKNOWN"
	ApplicationFinished ApplicationState = "FINISHED"
	ApplicationFailed   ApplicationState = "FAILED"
	ApplicationKilled   ApplicationState = "KILLED"
	// ApplicationLost: the application has ended because its driver was disconnected for too
	// long.
	ApplicationLost ApplicationState = "LOST"
)

// reservedIDBlock is the number of executor ids that are reserved in the store at a time.
const reservedIDBlock = 64

// application is the master's state of an application.
type application struct {
	id           string
	registration string
	description  *protocol.ApplicationDescription
	start        time.Time // when the application registered, or when a worker first reported it

	attached      bool
	neverAttached bool      // whether the application has not attached since this master became the leader
	detachedSince time.Time // when the application's last stream ended

	// sentAllExecutors is set when this master has sent the application all its executors.
	// This happens when workers have reported all executors that the application expects, or
	// at completeBy. Until then, executors that workers report are added, but none is
	// launched.
	sentAllExecutors bool
	completeBy       time.Time
	expected         map[uint32]bool // ids that the application reported when it attached, but that no worker has reported yet
	knownHighestID   uint32          // the highest executor id that the application reported when it attached
	killed           map[uint32]bool // ids of executors to stop when a worker reports them
	registeredIDs    map[uint32]bool // ids of executors that have registered with the driver, but that no worker has reported yet

	demands  []*protocol.ExecutorDemand
	excluded map[string]bool

	executors   map[uint32]*executor
	live        map[uint32]int // number of active executors (isActive), by profile id
	cores       int            // cores of active executors
	highestID   uint32         // the highest executor id in use
	reservedIDs uint32         // executor ids up to this one are reserved in the store
	usedWorkers map[string]bool

	ends     []*protocol.ExecutorEnd // ends of executors that the application has not acknowledged
	sequence uint64

	failures   int            // number of consecutive executors that failed before they registered
	failedOn   map[string]int // number of failed executors, by worker id
	retryAt    time.Time
	waitReason string // why the application lacks executors, for users; "" if it lacks none

	state  ApplicationState // set when the application has ended
	reason string
	ended  time.Time
	// summary is the text that the driver has sent with protocol.Finish; "" before.
	summary string
}

func newApplication(id string) *application {
	return &application{
		id: id, executors: map[uint32]*executor{}, live: map[uint32]int{}, usedWorkers: map[string]bool{},
		expected: map[uint32]bool{}, killed: map[uint32]bool{}, registeredIDs: map[uint32]bool{}, failedOn: map[string]int{},
		neverAttached: true,
	}
}

func (a *application) hasEnded() bool { return a.state != "" }

// launchable reports whether executors may be launched for the application now.
func (a *application) launchable() bool { return a.attached && a.sentAllExecutors && !a.hasEnded() }

func (a *application) currentState() ApplicationState {
	switch {
	case a.hasEnded():
		return a.state
	case a.neverAttached:
		return ApplicationUnknown
	case len(a.executors) == 0:
		return ApplicationWaiting
	}
	return ApplicationRunning
}

// hasGivenUp reports whether the application considers an executor ended. This is the case if
// the id is not above the highest id that the application reported when it attached, but the
// application did not report the executor as live. It is also the case if the executor's end
// waits for the application's acknowledgement.
func (a *application) hasGivenUp(id uint32) bool {
	if a.neverAttached {
		return false
	}
	return id <= a.knownHighestID && !a.expected[id] || a.hasEnd(id)
}

func (a *application) hasEnd(id uint32) bool {
	return slices.ContainsFunc(a.ends, func(end *protocol.ExecutorEnd) bool { return end.GetId() == id })
}

func (a *application) dropEnd(id uint32) {
	a.ends = slices.DeleteFunc(a.ends, func(end *protocol.ExecutorEnd) bool { return end.GetId() == id })
}

func (a *application) add(e *executor) {
	a.executors[e.key.id] = e
	if e.isActive() {
		a.count(e, 1)
	}
}

func (a *application) remove(e *executor) {
	delete(a.executors, e.key.id)
	if e.isActive() {
		a.count(e, -1)
	}
}

func (a *application) count(e *executor, by int) {
	a.live[e.profile.GetId()] += by
	a.cores += by * e.reserved.cores
}

func (a *application) executorsInOrder() []*executor {
	all := make([]*executor, 0, len(a.executors))
	for _, id := range slices.Sorted(maps.Keys(a.executors)) {
		all = append(all, a.executors[id])
	}
	return all
}

func (c *Cluster) coresLeft(a *application) int {
	limit := int(a.description.GetCoresMax())
	if limit == 0 {
		limit = c.options.DefaultCores
	}
	if limit == 0 {
		return math.MaxInt
	}
	return limit - a.cores
}

func (a *application) record() *ApplicationRecord {
	description := &protocol.ApplicationDescription{}
	if a.description != nil {
		kept := proto.CloneOf(a.description)
		kept.Command = nil
		description = kept
	}
	record := &ApplicationRecord{
		Id: a.id, Registration: a.registration, Description: description, Registered: a.start.UnixNano(), ExecutorIds: a.reservedIDs,
	}
	if a.hasEnded() {
		record.State, record.Reason, record.Ended, record.Summary = string(a.state), a.reason, a.ended.UnixNano(), a.summary
	}
	return record
}

// nextExecutorID returns a new executor id. The id is reserved in the store, so that a later
// master does not assign it again.
func (c *Cluster) nextExecutorID(a *application) uint32 {
	a.highestID++
	if a.highestID > a.reservedIDs {
		a.reservedIDs = a.highestID + reservedIDBlock - 1
		c.put(kindApplication, a.id, a.record())
	}
	return a.highestID
}

// AttachApplication registers an application, or attaches it again, and returns its id. If it
// fails, the application must not retry.
func (c *Cluster) AttachApplication(now time.Time, hello *protocol.ApplicationHello) (string, error) {
	if err := checkVersion(hello.GetVersion()); err != nil {
		return "", err
	}
	if hello.GetRegistration() == "" {
		return "", errors.New("the application's registration is empty")
	}
	id := hello.GetApplicationId()
	if id == "" {
		id = c.registrations[hello.GetRegistration()]
	} else if err := checkID("an application", id); err != nil {
		return "", err
	}
	if a := c.endedApplication(id); a != nil {
		return "", fmt.Errorf("application %s is over (%s): %s", a.id, a.state, a.reason)
	}
	a := c.applications[id]
	switch {
	case a == nil:
		if id == "" {
			id = c.newID("app", now)
		}
		a = c.newApplication(id, now)
		c.note("an application has registered", "application", id, "name", hello.GetDescription().GetName(),
			"user", hello.GetDescription().GetUser())
	case a.registration != "" && a.registration != hello.GetRegistration():
		return "", fmt.Errorf("application %s was registered by another process", id)
	default:
		c.note("an application has come back", "application", id)
	}
	c.attach(now, a, hello)
	c.endRecoveryIfComplete(now)
	return id, nil
}

func (c *Cluster) newApplication(id string, now time.Time) *application {
	a := newApplication(id)
	a.start = now
	c.applications[id] = a
	c.queue = append(c.queue, a)
	return a
}

// expectApplication adds an application that is known only because a worker has reported one
// of its executors.
func (c *Cluster) expectApplication(now time.Time, id string) *application {
	a := c.newApplication(id, now)
	a.detachedSince = now
	c.note("a worker has executors of an unknown application; waiting for it", "application", id)
	return a
}

// attach starts an application's new stream. The first message on the stream has the executor
// ends that the application has not acknowledged. It also has all executors of the
// application, unless the master still waits for workers to report some of them.
func (c *Cluster) attach(now time.Time, a *application, hello *protocol.ApplicationHello) {
	delete(c.effects.Applications, a.id) // orders that were meant for the previous stream
	a.registration = hello.GetRegistration()
	c.registrations[a.registration] = a.id
	a.description = hello.GetDescription()
	if a.description == nil {
		a.description = &protocol.ApplicationDescription{}
	}
	a.highestID = max(a.highestID, hello.GetHighestExecutorId())
	a.attached = true
	c.dirty = true
	if d := c.drivers[a.description.GetDriverId()]; d != nil {
		d.application = a.id
	}
	c.put(kindApplication, a.id, a.record())

	order := c.orderApplication(a)
	order.Ends = append(order.Ends, a.ends...)
	if !a.neverAttached {
		if a.sentAllExecutors {
			c.sendAll(a)
		}
		return
	}
	a.neverAttached = false
	a.completeBy = now.Add(c.options.ReconnectTimeout)
	a.knownHighestID = hello.GetHighestExecutorId()
	for _, id := range hello.GetExecutors() {
		a.expected[id] = true
	}
	for _, e := range a.executorsInOrder() {
		if a.hasGivenUp(e.key.id) {
			c.kill(e)
		}
		delete(a.expected, e.key.id)
	}
	c.completeIfNoneExpected(a)
}

// completeIfNoneExpected calls completeNow if workers have reported all expected executors.
func (c *Cluster) completeIfNoneExpected(a *application) {
	if c.phase == PhaseAlive && a.attached && len(a.expected) == 0 {
		c.completeNow(a)
	}
}

func (c *Cluster) completeNow(a *application) {
	if a.sentAllExecutors {
		return
	}
	a.sentAllExecutors = true
	clear(a.expected)
	clear(a.killed)
	clear(a.registeredIDs)
	c.dirty = true
	// If a worker that was considered lost attaches again, its executors and their
	// replacements together may exceed cores.max.
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(a.executors))) {
		if c.coresLeft(a) < 0 {
			c.kill(a.executors[id])
		}
	}
	c.sendAll(a)
}

// sendAll sends an application all its executors, the notices for executors that are being
// decommissioned, and the reason if it lacks executors.
func (c *Cluster) sendAll(a *application) {
	order := c.orderApplication(a)
	order.Complete = true
	order.Executors = nil
	notices := map[*worker]*protocol.ExecutorNotice{}
	for _, e := range a.executorsInOrder() {
		order.Executors = append(order.Executors, e.forApplication())
		if !e.decommissioning {
			continue
		}
		if notices[e.worker] == nil {
			notices[e.worker] = e.worker.notice()
			order.Notices = append(order.Notices, notices[e.worker])
		}
		notices[e.worker].Executors = append(notices[e.worker].Executors, e.key.id)
	}
	if a.waitReason != "" {
		order.Hindrance = proto.String(a.waitReason)
	}
}

// DetachApplication records that an application's stream has ended.
func (c *Cluster) DetachApplication(now time.Time, id string) {
	if a := c.applications[id]; a != nil && a.attached {
		a.attached, a.detachedSince = false, now
		delete(c.effects.Applications, id)
		c.note("the connection to an application has broken", "application", id)
	}
}

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

// ApplicationState is what an application is at.
type ApplicationState string

// States of an application.
const (
	// Waiting has no executor yet.
	Waiting ApplicationState = "WAITING"
	Running ApplicationState = "RUNNING"
	// Unknown was in the store, or has executors on a worker, and has not attached.
	Unknown  ApplicationState = "UNKNOWN"
	Finished ApplicationState = "FINISHED"
	Failed   ApplicationState = "FAILED"
	Killed   ApplicationState = "KILLED"
	// Lost is over because its driver went without a word.
	Lost ApplicationState = "LOST"
)

// idBlock is how many ids of executors are set apart in the store at a time.
const idBlock = 64

// application is a driver that asks for executors.
type application struct {
	id           string
	registration string
	description  *protocol.ApplicationDescription
	start        time.Time // of its registration here

	attached  bool
	attaching bool      // it has not attached since the master leads
	since     time.Time // detached

	// complete is set once it has been told of all its executors. Before that,
	// executors that it or the workers name are taken over, and nothing is launched.
	complete      bool
	completeBy    time.Time
	expected      map[uint32]bool // executors that it knows, and no worker has named yet
	heardOf       uint32          // the greatest id of an executor that it knew when it attached
	unwanted      map[uint32]bool // of those, the ones that it has given up
	registeredIDs map[uint32]bool // of those, the ones that have registered with it

	demands  []*protocol.ExecutorDemand
	excluded map[string]bool

	executors map[uint32]*executor
	live      map[uint32]int // executors that count, by profile
	cores     int            // of these
	highest   uint32         // the greatest id of an executor
	reserved  uint32         // ids up to this one are set apart
	touched   map[string]bool

	ends     []*protocol.ExecutorEnd // that were not acknowledged
	sequence uint64

	failures  int            // executors that failed one after the other, none having registered
	failedOn  map[string]int // executors that failed, by worker
	retryAt   time.Time
	hindrance string

	state  ApplicationState // once it is over
	reason string
	ended  time.Time
}

func newApplication(id string) *application {
	return &application{
		id: id, executors: map[uint32]*executor{}, live: map[uint32]int{}, touched: map[string]bool{},
		expected: map[uint32]bool{}, unwanted: map[uint32]bool{}, registeredIDs: map[uint32]bool{}, failedOn: map[string]int{},
		attaching: true,
	}
}

func (a *application) over() bool { return a.state != "" }

// launchable tells whether executors may be started for it now.
func (a *application) launchable() bool { return a.attached && a.complete && !a.over() }

func (a *application) status() ApplicationState {
	switch {
	case a.over():
		return a.state
	case a.attaching:
		return Unknown
	case len(a.executors) == 0:
		return Waiting
	}
	return Running
}

// gaveUp tells whether the application, which attached not long ago, knows that
// an executor is lost: it has heard of it, and does not name it, or was told of
// its end since.
func (a *application) gaveUp(id uint32) bool {
	if a.attaching {
		return false
	}
	return id <= a.heardOf && !a.expected[id] || a.hasEnd(id)
}

func (a *application) hasEnd(id uint32) bool {
	return slices.ContainsFunc(a.ends, func(end *protocol.ExecutorEnd) bool { return end.GetId() == id })
}

func (a *application) forgetEnd(id uint32) {
	a.ends = slices.DeleteFunc(a.ends, func(end *protocol.ExecutorEnd) bool { return end.GetId() == id })
}

func (a *application) add(e *executor) {
	a.executors[e.key.id] = e
	if e.counts() {
		a.count(e, 1)
	}
}

func (a *application) remove(e *executor) {
	delete(a.executors, e.key.id)
	if e.counts() {
		a.count(e, -1)
	}
}

func (a *application) count(e *executor, by int) {
	a.live[e.profile.GetId()] += by
	a.cores += by * e.reserved.cores
}

func (a *application) inOrder() []*executor {
	all := make([]*executor, 0, len(a.executors))
	for _, id := range slices.Sorted(maps.Keys(a.executors)) {
		all = append(all, a.executors[id])
	}
	return all
}

// coresLeft is how many cores its executors may take beside those they have.
func (c *Cluster) coresLeft(a *application) int {
	most := int(a.description.GetCoresMax())
	if most == 0 {
		most = c.options.DefaultCores
	}
	if most == 0 {
		return math.MaxInt
	}
	return most - a.cores
}

func (a *application) record() *ApplicationRecord {
	description := &protocol.ApplicationDescription{}
	if a.description != nil {
		kept := proto.CloneOf(a.description)
		kept.Command = nil
		description = kept
	}
	record := &ApplicationRecord{
		Id: a.id, Registration: a.registration, Description: description, Registered: a.start.UnixNano(), ExecutorIds: a.reserved,
	}
	if a.over() {
		record.State, record.Reason, record.Ended = string(a.state), a.reason, a.ended.UnixNano()
	}
	return record
}

// nextExecutorID sets ids apart in the store before they are given, so that no
// later master gives one again.
func (c *Cluster) nextExecutorID(a *application) uint32 {
	a.highest++
	if a.highest > a.reserved {
		a.reserved = a.highest + idBlock - 1
		c.put(kindApplication, a.id, a.record())
	}
	return a.highest
}

// AttachApplication takes an application's registration, its first one or a later
// one, and returns its id. The error says why it is refused for good.
func (c *Cluster) AttachApplication(now time.Time, hello *protocol.ApplicationHello) (string, error) {
	if err := checkVersion(hello.GetVersion()); err != nil {
		return "", err
	}
	if hello.GetRegistration() == "" {
		return "", errors.New("the application's registration has no name of its own")
	}
	id := hello.GetApplicationId()
	if id == "" {
		id = c.registrations[hello.GetRegistration()]
	} else if err := checkID("an application", id); err != nil {
		return "", err
	}
	if past := c.endedApplication(id); past != nil {
		return "", fmt.Errorf("application %s is over (%s): %s", past.id, past.state, past.reason)
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
	c.recoverIfAllAreBack(now)
	return id, nil
}

func (c *Cluster) newApplication(id string, now time.Time) *application {
	a := newApplication(id)
	a.start = now
	c.applications[id] = a
	c.queue = append(c.queue, a)
	return a
}

// expectApplication stands for an application of which only a worker has told.
func (c *Cluster) expectApplication(now time.Time, id string) *application {
	a := c.newApplication(id, now)
	a.since = now
	c.note("a worker has executors of an application that is unknown, and waited for", "application", id)
	return a
}

// attach connects an application and tells it all there is.
func (c *Cluster) attach(now time.Time, a *application, hello *protocol.ApplicationHello) {
	delete(c.effects.Applications, a.id) // they were for the stream before
	a.registration = hello.GetRegistration()
	c.registrations[a.registration] = a.id
	a.description = hello.GetDescription()
	if a.description == nil {
		a.description = &protocol.ApplicationDescription{}
	}
	a.highest = max(a.highest, hello.GetHighestExecutorId())
	a.attached = true
	c.dirty = true
	if d := c.drivers[a.description.GetDriverId()]; d != nil {
		d.application = a.id
	}
	c.put(kindApplication, a.id, a.record())

	order := c.orderApplication(a)
	order.Ends = append(order.Ends, a.ends...)
	if !a.attaching {
		if a.complete {
			c.tellAll(a)
		}
		return
	}
	a.attaching = false
	a.completeBy = now.Add(c.options.ReconnectTimeout)
	a.heardOf = hello.GetHighestExecutorId()
	for _, id := range hello.GetExecutors() {
		a.expected[id] = true
	}
	for _, e := range a.inOrder() {
		if a.gaveUp(e.key.id) {
			c.kill(e)
		}
		delete(a.expected, e.key.id)
	}
	c.completeIfAllAreBack(a)
}

// completeIfAllAreBack tells an application of all its executors once none is
// expected any more.
func (c *Cluster) completeIfAllAreBack(a *application) {
	if c.phase == Alive && a.attached && len(a.expected) == 0 {
		c.completeNow(a)
	}
}

func (c *Cluster) completeNow(a *application) {
	if a.complete {
		return
	}
	a.complete = true
	clear(a.expected)
	clear(a.unwanted)
	clear(a.registeredIDs)
	c.dirty = true
	// Workers that the master before had given up may have come back.
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(a.executors))) {
		if c.coresLeft(a) < 0 {
			c.kill(a.executors[id])
		}
	}
	c.tellAll(a)
}

// tellAll tells an application of all that it has.
func (c *Cluster) tellAll(a *application) {
	order := c.orderApplication(a)
	order.Complete = true
	order.Executors = nil
	notices := map[*worker]*protocol.ExecutorNotice{}
	for _, e := range a.inOrder() {
		order.Executors = append(order.Executors, e.forApplication())
		if !e.leaving {
			continue
		}
		if notices[e.worker] == nil {
			notices[e.worker] = e.worker.notice()
			order.Notices = append(order.Notices, notices[e.worker])
		}
		notices[e.worker].Executors = append(notices[e.worker].Executors, e.key.id)
	}
	if a.hindrance != "" {
		order.Hindrance = proto.String(a.hindrance)
	}
}

// DetachApplication says that an application's stream has broken.
func (c *Cluster) DetachApplication(now time.Time, id string) {
	if a := c.applications[id]; a != nil && a.attached {
		a.attached, a.since = false, now
		delete(c.effects.Applications, id)
		c.note("the connection to an application has broken", "application", id)
	}
}

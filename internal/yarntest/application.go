package yarntest

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// Submission describes an application to submit. By default, its ApplicationMaster is
// unmanaged.
type Submission struct {
	// User is the user who submits the application. Default: "alice".
	User string
	Name string
	Type string
	// Queue is the name of a leaf queue, with or without "root.". Default: the first leaf
	// queue.
	Queue string
	// Managed allocates a container of the size Resource for the ApplicationMaster. The
	// attempt begins at this allocation; the test acts as the ApplicationMaster's process. The
	// attempts of an unmanaged ApplicationMaster begin at once.
	Managed  bool
	Resource yarn.Resource
	// MaxAttempts is the maximum number of attempts. It is limited by Options.MaxAttempts,
	// which is also the default. An application with an unmanaged ApplicationMaster has only
	// one attempt.
	MaxAttempts int
	// KeepContainers transfers the running containers of a failed attempt to the next attempt.
	KeepContainers bool
}

type application struct {
	Submission
	id       yarn.ApplicationID
	queue    *queue
	attempts []*attempt
	state    yarn.ApplicationState
	final    yarn.FinalStatus
	// stored is true when the final state is in the state store, and the ApplicationMaster may
	// exit.
	stored      bool
	diagnostics string
	trackingURL string
	progress    float32
	submitted   time.Time
	launched    time.Time
	finished    time.Time
}

type attempt struct {
	id  yarn.AttemptID
	app *application
	// launched is true when the ApplicationMaster has been started, registered while it is
	// registered, finishing when it has requested to unregister, and ended when the attempt has
	// ended.
	launched, registered, finishing, ended bool

	host           string
	port           int32
	master         *container // the container of the ApplicationMaster; nil if it is unmanaged
	began          time.Time
	finishedAt     time.Time
	expiry         *event
	keyID          int32 // id of the master key of the attempt's newest AMRMToken
	lastID         int32
	last           *pb.AllocateResponse
	containerCount int64 // number of containers allocated in the epoch countEpoch
	countEpoch     int64

	table table
	// blacklist maps the blacklisted hosts and racks to the times at which they were added.
	blacklist map[string]time.Time
	// heartbeats is the number of heartbeats, and freed the sum of the resources of ended
	// containers.
	heartbeats int
	freed      yarn.Resource
	// held are the containers that the attempt uses, in the order of their allocation.
	held           []*container
	newlyAllocated []*container // allocated containers that have not been sent to the ApplicationMaster
	newlyCompleted []*pb.ContainerStatus
	nodeUpdates    []*registration
	tokensFor      map[*Node]bool
	previous       []*container // containers of the previous attempt that have not been sent to the ApplicationMaster
	// pendingReleases are released containers whose nodes have not registered since the
	// ResourceManager restarted.
	pendingReleases map[*container]bool
	strict          []*container // containers whose strict preemption must be announced
	contract        []*container // containers whose negotiable preemption must be announced, see Application.Preempt
}

func (a *application) current() *attempt { return a.attempts[len(a.attempts)-1] }

// state returns the name of the attempt's RMAppAttemptState.
func (a *attempt) state() string {
	switch {
	case a.ended && a.app.final == yarn.FinalKilled:
		return "KILLED"
	case a.ended && a.finishing:
		return "FINISHED"
	case a.ended:
		return "FAILED"
	case a.finishing:
		return "FINISHING"
	case a.registered || a.launched && a.host != "":
		return "RUNNING"
	case a.launched:
		return "LAUNCHED"
	default:
		return "SCHEDULED"
	}
}

func (c *Cluster) newID() yarn.ApplicationID {
	c.lastApplication++
	return yarn.ApplicationID{ClusterTimestamp: c.identifier, Sequence: c.lastApplication}
}

// submit accepts an application. As in YARN, an application for an unknown queue is accepted,
// and then fails.
func (c *Cluster) submit(id yarn.ApplicationID, s Submission) *application {
	orDefault(&s.User, "alice")
	orDefault(&s.Name, "N/A")
	orDefault(&s.Type, "YARN")
	orDefault(&s.Queue, c.queues[0].spec.Name)
	if s.MaxAttempts == 0 || s.MaxAttempts > c.options.MaxAttempts {
		s.MaxAttempts = c.options.MaxAttempts
	}
	if !s.Managed {
		s.MaxAttempts = 1
	}
	orDefault(&s.Resource.MemoryMB, 512)
	orDefault(&s.Resource.VCores, 1)
	app := &application{Submission: s, id: id, state: yarn.ApplicationAccepted, submitted: time.Now()}
	c.applications = append(c.applications, app)
	c.byID[id] = app
	if app.queue = c.queue(s.Queue); app.queue == nil {
		app.queue = c.queues[0]
		app.attempts = []*attempt{{id: yarn.AttemptID{Application: id, Attempt: 1}, app: app, ended: true}}
		c.end(app, yarn.ApplicationFailed, yarn.FinalFailed,
			fmt.Sprintf("Application %v submitted by user %s to unknown queue: %s", id, s.User, s.Queue))
		return app
	}
	c.newAttempt(app)
	return app
}

func (c *Cluster) newAttempt(app *application) {
	a := &attempt{
		id:  yarn.AttemptID{Application: app.id, Attempt: int32(len(app.attempts) + 1)},
		app: app, lastID: -1, blacklist: map[string]time.Time{}, tokensFor: map[*Node]bool{}, pendingReleases: map[*container]bool{}, began: time.Now(), keyID: c.amrmKeys.current,
		countEpoch: c.epoch,
	}
	if len(app.attempts) > 0 {
		before := app.current()
		for _, k := range before.held {
			// The containers keep their ids, which contain the number of the attempt that
			// allocated them.
			a.previous = append(a.previous, k)
			k.attempt = a
		}
		a.held, before.held = before.held, nil
	}
	app.attempts = append(app.attempts, a)
	app.state = yarn.ApplicationAccepted
	if app.Managed {
		// The ApplicationMaster's container has the highest priority (the lowest number).
		a.table.set(&pb.ResourceRequest{
			Priority: &pb.Priority{Priority: proto.Int32(masterPriority)}, ResourceName: proto.String(yarn.AnyHost),
			Containers: proto.Int32(1), AllocationRequestId: proto.Int64(-1),
		}, app.Resource)
		c.demandChanged()
		return
	}
	c.launch(a)
}

// masterPriority is RMAppAttemptImpl.AM_CONTAINER_PRIORITY.
const masterPriority = 0

// launch begins the attempt. The ApplicationMaster then has an AMRMToken and may register.
func (c *Cluster) launch(a *attempt) {
	a.launched = true
	if a.app.launched.IsZero() {
		a.app.launched = time.Now()
	}
	c.ping(a)
}

// ping restarts the timeout after which the attempt fails if its ApplicationMaster sends no
// heartbeat.
func (c *Cluster) ping(a *attempt) {
	c.cancel(a.expiry)
	a.expiry = c.after(c.options.MasterExpiry, func() {
		c.failAttempt(a, fmt.Sprintf("ApplicationMaster for attempt %v timed out", a.id))
	})
}

// failAttempt ends an attempt that has not unregistered. It then begins the next attempt or,
// after MaxAttempts attempts, ends the application.
func (c *Cluster) failAttempt(a *attempt, diagnostics string) {
	if a.ended {
		return
	}
	app := a.app
	c.closeAttempt(a, app.KeepContainers && len(app.attempts) < app.MaxAttempts)
	if len(app.attempts) < app.MaxAttempts {
		c.newAttempt(app)
		return
	}
	c.end(app, yarn.ApplicationFailed, yarn.FinalFailed, fmt.Sprintf(
		"Application %v failed %d times due to %s. Failing the application.", app.id, len(app.attempts), diagnostics))
}

// closeAttempt ends an attempt and its containers. If keep is set, the launched containers, except
// the ApplicationMaster's, continue to run for the next attempt.
func (c *Cluster) closeAttempt(a *attempt, keep bool) {
	a.ended, a.registered, a.finishedAt = true, false, time.Now()
	c.cancel(a.expiry)
	a.table, a.newlyAllocated = table{}, nil
	for _, k := range slices.Clone(a.held) {
		if keep && k.stage == launched && !k.master {
			continue
		}
		c.complete(k, k.killedStatus(yarn.ExitKilledAfterApplication, completedAppText))
		if k.onNode() {
			k.node.cleanups = append(k.node.cleanups, k)
			k.node.scheduleHeartbeat()
		}
	}
	c.demandChanged()
}

func (c *Cluster) end(app *application, state yarn.ApplicationState, final yarn.FinalStatus, diagnostics string) {
	app.state, app.final, app.diagnostics, app.finished, app.stored = state, final, diagnostics, time.Now(), true
	if a := app.current(); !a.ended {
		c.closeAttempt(a, false)
	}
	c.log("application ended", "application", app.id, "state", state, "diagnostics", diagnostics)
}

// running returns the applications that have not ended.
func (c *Cluster) running() []*application {
	var apps []*application
	for _, app := range c.applications {
		if !app.state.Ended() {
			apps = append(apps, app)
		}
	}
	return apps
}

// attempt returns the attempt with the given id, or nil.
func (c *Cluster) attempt(id yarn.AttemptID) *attempt {
	app := c.byID[id.Application]
	if app == nil || id.Attempt < 1 || int(id.Attempt) > len(app.attempts) {
		return nil
	}
	return app.attempts[id.Attempt-1]
}

// Application is a handle for an application of the cluster.
type Application struct {
	cluster *Cluster
	app     *application
}

// Submit submits an application. A managed application has an AMRMToken when Launched in its
// ApplicationStatus is true.
func (c *Cluster) Submit(s Submission) *Application {
	var app *application
	c.do(func() { app = c.submit(c.newID(), s) })
	return &Application{c, app}
}

// Application returns a handle for the application with an id, for example an application that
// was submitted over REST. It returns false if there is no such application.
func (c *Cluster) Application(id yarn.ApplicationID) (*Application, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	app, ok := c.byID[id]
	return &Application{c, app}, ok
}

// ID returns the application's id.
func (a *Application) ID() yarn.ApplicationID { return a.app.id }

// AttemptID returns the id of the current attempt.
func (a *Application) AttemptID() yarn.AttemptID {
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	return a.app.current().id
}

// AMRMToken returns the AMRMToken of the current attempt.
func (a *Application) AMRMToken() security.Token {
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	attempt := a.app.current()
	return a.cluster.amrmToken(attempt, attempt.keyID)
}

// Options returns options for a client that the current attempt's ApplicationMaster uses.
func (a *Application) Options() yarn.ClientOptions {
	return yarn.ClientOptions{Token: a.AMRMToken(), Dial: a.cluster.Dial, Logger: a.cluster.options.Logger}
}

// Fail ends the current attempt in the same way as a crash of its ApplicationMaster.
func (a *Application) Fail(diagnostics string) {
	a.cluster.do(func() { a.cluster.failAttempt(a.app.current(), diagnostics) })
}

// Kill ends the application in the same way as a kill by its user.
func (a *Application) Kill(diagnostics string) {
	a.cluster.do(func() { a.cluster.kill(a.app, diagnostics) })
}

func (c *Cluster) kill(app *application, diagnostics string) {
	if app.state.Ended() {
		return
	}
	c.end(app, yarn.ApplicationKilled, yarn.FinalKilled, diagnostics)
}

// Surplus allocates n containers that the application has not requested, on nodes with enough
// free resources. In YARN, this can happen if the ResourceManager allocates containers before
// it receives the request that lowers their number.
func (a *Application) Surplus(n int, resource yarn.Resource, priority int32) {
	c := a.cluster
	c.do(func() {
		attempt := a.app.current()
		for range n {
			for _, node := range c.nodes {
				if node.active() && resource.Fits(node.free()) && attempt.registered && !attempt.ended {
					k := c.allocate(attempt, node, requestKey{priority: priority}, &row{resource: resource})
					k.surplus = true
					break
				}
			}
		}
	})
}

// Preempt announces the preemption of containers. When the duration wait has passed, it kills the
// containers that have not ended. But if strict is false, and the application has meanwhile
// released at least the sum of these containers' resources, Preempt kills no container.
func (a *Application) Preempt(strict bool, wait time.Duration, ids ...yarn.ContainerID) {
	c := a.cluster
	c.do(func() {
		var containers []*container
		for _, id := range ids {
			if k := c.containers[id]; k != nil && k.held() && k.attempt == a.app.current() {
				containers = append(containers, k)
			}
		}
		c.preempt(a.app.current(), containers, strict, wait)
	})
}

package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// driver is a program that was submitted to the cluster.
type driver struct {
	id          string
	submission  string
	description *protocol.DriverDescription
	submitted   time.Time

	state       protocol.DriverState
	launch      uint32     // number of the latest launch
	run         *driverRun // nil while the driver waits to be launched, and after its end
	lastWorker  *worker
	killing     bool
	text        string
	exitCode    int32
	logURL      string
	application string
	ended       time.Time
}

type driverRunKey struct {
	driver string
	launch uint32
}

// driverRun is one launch of a driver on a worker.
type driverRun struct {
	key      driverRunKey
	driver   *driver // nil if the driver has ended or was launched again
	worker   *worker
	reserved reservation
}

func (w *worker) runsInOrder() []*driverRun {
	all := make([]*driverRun, 0, len(w.runs))
	for _, r := range w.runs {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *driverRun) int {
		return cmp.Or(cmp.Compare(a.key.driver, b.key.driver), cmp.Compare(a.key.launch, b.key.launch))
	})
	return all
}

func (d *driver) record() *DriverRecord {
	record := &DriverRecord{
		Id: d.id, Submission: d.submission, Description: d.description, Submitted: d.submitted.UnixNano(),
		Launch: d.launch, State: d.state, Killed: d.killing, Text: d.text, ExitCode: d.exitCode,
	}
	if d.lastWorker != nil {
		record.WorkerId = d.lastWorker.id
	}
	if d.run != nil {
		record.Resources = protocol.ToAddresses(d.run.reserved.resources)
	}
	if d.state.Ended() {
		record.Ended = d.ended.UnixNano()
	}
	return record
}

// SubmitDriver adds a driver and returns its state. It adds no driver if it has already added
// one for the same submission, or if a driver with the same idempotency key exists (see
// earlierSubmission). In these cases it returns the state of the existing driver.
func (c *Cluster) SubmitDriver(now time.Time, request *protocol.SubmitDriverRequest) (*protocol.DriverReply, error) {
	if err := checkDriver(request.GetDescription()); err != nil {
		return nil, err
	}
	if id, known := c.submissions[request.GetSubmission()]; known && request.GetSubmission() != "" {
		if reply := c.DriverStatus(id); reply != nil {
			return reply, nil
		}
	}
	if d := c.earlierSubmission(request.GetDescription()); d != nil {
		reply := c.replyFor(d)
		reply.Earlier = true
		return reply, nil
	}
	d := &driver{
		id: c.newID("driver", now), submission: request.GetSubmission(), description: request.GetDescription(), submitted: now,
		state: protocol.DriverState_DRIVER_SUBMITTED,
	}
	c.drivers[d.id] = d
	if d.submission != "" {
		c.submissions[d.submission] = d.id
	}
	c.waitingDrivers = append(c.waitingDrivers, d)
	c.put(kindDriver, d.id, d.record())
	c.dirty = true
	c.note("a driver was submitted", "driver", d.id, "name", d.description.GetName(), "user", d.description.GetUser())
	return c.replyFor(d), nil
}

// earlierSubmission returns a driver of the same user with the same idempotency key: a driver
// that has not ended or, if there is none, the last one that succeeded. It returns nil if
// neither exists. It ignores failed and killed drivers, so that a pipeline can retry.
func (c *Cluster) earlierSubmission(description *protocol.DriverDescription) *driver {
	if description.GetIdempotencyKey() == "" {
		return nil
	}
	same := func(d *driver) bool {
		return d.description.GetIdempotencyKey() == description.GetIdempotencyKey() && d.description.GetUser() == description.GetUser()
	}
	for _, d := range c.driversInOrder() {
		if same(d) && !d.killing {
			return d
		}
	}
	for _, d := range slices.Backward(c.endedDrivers.entries) {
		if same(d) && d.state == protocol.DriverState_DRIVER_FINISHED {
			return d
		}
	}
	return nil
}

// DriverStatus returns the state of a driver, or nil if the id is unknown.
func (c *Cluster) DriverStatus(id string) *protocol.DriverReply {
	if d := c.drivers[id]; d != nil {
		return c.replyFor(d)
	}
	for _, d := range c.endedDrivers.entries {
		if d.id == id {
			return c.replyFor(d)
		}
	}
	return nil
}

func (c *Cluster) replyFor(d *driver) *protocol.DriverReply {
	reply := &protocol.DriverReply{
		DriverId: d.id, State: d.state, Text: d.text, ExitCode: d.exitCode, LogUrl: d.logURL, ApplicationId: d.application,
		Name: d.description.GetName(), Submitted: d.submitted.UnixNano(),
	}
	if d.lastWorker != nil {
		reply.WorkerId, reply.Host = d.lastWorker.id, d.lastWorker.address.host
	}
	if a := c.applications[d.application]; a != nil {
		reply.WebUrl = a.description.GetWebUrl()
	} else if a := c.endedApplication(d.application); a != nil {
		reply.Summary = a.summary
	}
	return reply
}

// KillDriver orders a driver's worker to stop the driver, or ends a driver that was not launched
// yet. It returns the driver's state, or nil if the id is unknown. A driver that has ended keeps
// its state.
func (c *Cluster) KillDriver(now time.Time, id string) *protocol.DriverReply {
	d := c.drivers[id]
	if d == nil {
		return c.DriverStatus(id)
	}
	d.killing = true
	if d.run == nil {
		c.endDriver(now, d, protocol.DriverState_DRIVER_KILLED, "it was killed before it was launched", 0)
	} else {
		c.put(kindDriver, d.id, d.record())
		c.orderDriverKill(d.run)
	}
	return c.replyFor(d)
}

func (c *Cluster) orderDriverKill(r *driverRun) {
	order := c.orderWorker(r.worker)
	order.KillDrivers = append(order.KillDrivers, &protocol.KillDriver{DriverId: r.key.driver, Launch: r.key.launch})
}

func (c *Cluster) launchDriver(d *driver, w *worker) {
	d.launch++
	d.state = protocol.DriverState_DRIVER_LAUNCHING
	d.lastWorker = w
	d.run = &driverRun{
		key: driverRunKey{d.id, d.launch}, driver: d, worker: w,
		reserved: w.capacity.reserve(driverSize(d.description)),
	}
	w.runs[d.run.key] = d.run
	c.put(kindDriver, d.id, d.record())
	c.orderDriverLaunch(d.run)
	c.note("launching a driver", "driver", d.id, "launch", d.launch, "worker", w.id, "host", w.address.host)
}

func (c *Cluster) orderDriverLaunch(r *driverRun) {
	order := c.orderWorker(r.worker)
	order.LaunchDrivers = append(order.LaunchDrivers, &protocol.LaunchDriver{
		DriverId: r.key.driver, Launch: r.key.launch, Description: r.driver.description, Resources: protocol.ToAddresses(r.reserved.resources),
	})
}

func (c *Cluster) handleDriverReport(now time.Time, w *worker, report *protocol.DriverReport) {
	r := w.runs[driverRunKey{report.GetDriverId(), report.GetLaunch()}]
	if r == nil {
		if !report.GetState().Ended() {
			c.takeOverDriver(now, w, report)
		}
		return
	}
	d := r.driver
	if report.GetState() == protocol.DriverState_DRIVER_LOST {
		if d != nil {
			d.logURL = report.GetLogUrl()
		}
		c.loseRun(now, r, report.GetText())
		return
	}
	if report.GetState().Ended() {
		c.endRun(r)
		if d != nil {
			d.logURL = report.GetLogUrl()
			c.endDriver(now, d, report.GetState(), report.GetText(), report.GetExitCode())
		}
		return
	}
	if d == nil {
		return
	}
	d.text, d.logURL = report.GetText(), report.GetLogUrl()
	if report.GetApplicationId() != "" {
		d.application = report.GetApplicationId()
	}
	if d.state == protocol.DriverState_DRIVER_LAUNCHING && report.GetState() == protocol.DriverState_DRIVER_RUNNING {
		d.state = protocol.DriverState_DRIVER_RUNNING
		c.put(kindDriver, d.id, d.record())
	}
}

// takeOverDriver adds a driver's launch, which a worker reports but this master does not know.
// If the master does not know the driver either, takeOverDriver adds the driver, because the
// store may have been lost. If the master knows the driver, the reported launch is not the
// driver's current one, so the worker is ordered to stop it. The worker is also ordered to
// stop a launch whose report is invalid.
func (c *Cluster) takeOverDriver(now time.Time, w *worker, report *protocol.DriverReport) {
	r := &driverRun{
		key: driverRunKey{report.GetDriverId(), report.GetLaunch()}, worker: w,
		reserved: reservation{
			cores:     int(min(report.GetDescription().GetCores(), maxCores)),
			memory:    min(max(report.GetDescription().GetMemory(), 0), maxMemory),
			resources: protocol.FromAddresses(report.GetResources()),
		},
	}
	w.capacity.add(r.reserved)
	w.runs[r.key] = r
	known := c.DriverStatus(r.key.driver) != nil
	if known || checkID("a driver", r.key.driver) != nil || checkDriver(report.GetDescription()) != nil {
		c.note("a worker has a driver that is not wanted any more", "driver", r.key.driver, "launch", r.key.launch, "worker", w.id)
		c.orderDriverKill(r)
		return
	}
	d := &driver{
		id: r.key.driver, description: report.GetDescription(), submitted: now, state: report.GetState(), launch: r.key.launch,
		run: r, lastWorker: w, text: report.GetText(), logURL: report.GetLogUrl(), application: report.GetApplicationId(),
	}
	r.driver = d
	c.drivers[d.id] = d
	c.put(kindDriver, d.id, d.record())
	c.note("taking over a driver", "driver", d.id, "worker", w.id)
}

// reconcileDrivers compares the drivers that a worker should run with those that the worker
// reported when it attached (named). It launches again, or ends, the drivers that the worker
// did not report. It repeats the kill order for reported drivers that should not run.
func (c *Cluster) reconcileDrivers(now time.Time, w *worker, named map[driverRunKey]bool) {
	for _, r := range w.runsInOrder() {
		switch d := r.driver; {
		case named[r.key]:
			if d == nil || d.killing {
				c.orderDriverKill(r)
			}
		case d != nil && d.state == protocol.DriverState_DRIVER_LAUNCHING && !d.killing:
			c.orderDriverLaunch(r) // the launch order was lost
		default:
			c.loseRun(now, r, w.name()+" does not have it any more")
		}
	}
}

func (c *Cluster) endRun(r *driverRun) {
	delete(r.worker.runs, r.key)
	r.worker.capacity.release(r.reserved)
	if r.driver != nil {
		r.driver.run = nil
	}
	c.dirty = true
}

// loseRun ends a run whose process is lost. If the driver is supervised, it is launched again.
func (c *Cluster) loseRun(now time.Time, r *driverRun, reason string) {
	c.endRun(r)
	if r.driver != nil {
		c.loseDriver(now, r.driver, reason)
	}
}

func (c *Cluster) loseDriver(now time.Time, d *driver, reason string) {
	switch {
	case d.killing:
		c.endDriver(now, d, protocol.DriverState_DRIVER_KILLED, reason, 0)
	case d.description.GetSupervise():
		d.state, d.text = protocol.DriverState_DRIVER_RELAUNCHING, reason
		c.waitingDrivers = append(c.waitingDrivers, d)
		c.put(kindDriver, d.id, d.record())
		c.warn("a driver will be launched again", "driver", d.id, "reason", reason)
	default:
		c.endDriver(now, d, protocol.DriverState_DRIVER_ERROR, fmt.Sprintf("%s, and it is not supervised", reason), 0)
	}
}

func (c *Cluster) endDriver(now time.Time, d *driver, state protocol.DriverState, text string, exitCode int32) {
	d.state, d.text, d.exitCode, d.ended = state, text, exitCode, now
	delete(c.drivers, d.id)
	c.waitingDrivers = slices.DeleteFunc(c.waitingDrivers, func(other *driver) bool { return other == d })
	// Remove the arguments and the environment, which may contain secrets.
	d.description = &protocol.DriverDescription{
		Name: d.description.GetName(), User: d.description.GetUser(), Program: d.description.GetProgram(),
		Cores: d.description.GetCores(), Memory: d.description.GetMemory(), Supervise: d.description.GetSupervise(),
		IdempotencyKey: d.description.GetIdempotencyKey(),
	}
	forgotten := c.endedDrivers.add(d)
	c.put(kindDriver, d.id, d.record())
	for _, old := range forgotten {
		c.put(kindDriver, old.id, nil)
		delete(c.submissions, old.submission)
	}
	c.dirty = true
	c.note("a driver is over", "driver", d.id, "state", state, "reason", text)
}

// driversInOrder returns the drivers that have not ended, in the order of submission.
func (c *Cluster) driversInOrder() []*driver {
	all := make([]*driver, 0, len(c.drivers))
	for _, d := range c.drivers {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *driver) int {
		return cmp.Or(a.submitted.Compare(b.submitted), cmp.Compare(a.id, b.id))
	})
	return all
}

package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

// Recover adds the records that an earlier master has stored. It must be called before all
// other methods. If records cannot be decoded, Recover adds all others and returns an error
// that names them.
func (c *Cluster) Recover(now time.Time, records []recovery.Record) error {
	var problems []string
	var applications []*application
	var drivers []*DriverRecord
	for _, r := range records {
		var err error
		switch r.Kind {
		case kindApplication:
			record := &ApplicationRecord{}
			if err = proto.Unmarshal(r.Data, record); err == nil {
				applications = append(applications, recoveredApplication(now, record))
			}
		case kindWorker:
			record := &WorkerRecord{}
			if err = proto.Unmarshal(r.Data, record); err == nil {
				c.recoverWorker(now, record)
			}
		case kindDriver:
			record := &DriverRecord{}
			if err = proto.Unmarshal(r.Data, record); err == nil {
				drivers = append(drivers, record)
			}
		default:
			err = fmt.Errorf("its kind is unknown to this version")
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s/%s: %v", r.Kind, r.ID, err))
		}
	}
	c.recoverApplications(applications)
	c.recoverDrivers(now, drivers)
	if len(c.workers)+len(c.applications)+len(c.drivers) > 0 {
		c.phase = PhaseRecovering
		c.deadline = now.Add(c.options.RecoveryTimeout)
		c.note("recovering", "workers", len(c.workers), "applications", len(c.applications), "drivers", len(c.drivers))
		c.endRecoveryIfComplete(now)
	}
	c.dirty = true
	if len(problems) > 0 {
		return fmt.Errorf("records that this version does not understand: %s", strings.Join(problems, "; "))
	}
	return nil
}

func recoveredApplication(now time.Time, record *ApplicationRecord) *application {
	a := newApplication(record.GetId())
	a.registration = record.GetRegistration()
	a.description = record.GetDescription()
	a.start = time.Unix(0, record.GetRegistered())
	a.highestID, a.reservedIDs = record.GetExecutorIds(), record.GetExecutorIds()
	a.detachedSince = now
	if record.GetState() != "" {
		a.state, a.reason, a.ended = ApplicationState(record.GetState()), record.GetReason(), time.Unix(0, record.GetEnded())
		a.summary = record.GetSummary()
	}
	return a
}

func (c *Cluster) recoverApplications(applications []*application) {
	slices.SortFunc(applications, func(a, b *application) int {
		return cmp.Or(a.ended.Compare(b.ended), a.start.Compare(b.start), cmp.Compare(a.id, b.id))
	})
	for _, a := range applications {
		c.skipNumber(a.id)
		c.registrations[a.registration] = a.id
		if a.hasEnded() {
			for _, old := range c.ended.add(a) {
				c.put(kindApplication, old.id, nil)
				delete(c.registrations, old.registration)
			}
			continue
		}
		c.applications[a.id] = a
		c.queue = append(c.queue, a)
	}
}

func (c *Cluster) recoverWorker(now time.Time, record *WorkerRecord) {
	at := address{record.GetHost(), record.GetPort()}
	w := c.newWorker(record.GetId(), at, newCapacity(record.GetCores(), record.GetMemory(), record.GetResources()))
	w.webURL, w.recovered, w.since = record.GetWebUrl(), true, now
}

func (c *Cluster) recoverDrivers(now time.Time, records []*DriverRecord) {
	slices.SortFunc(records, func(a, b *DriverRecord) int {
		return cmp.Or(cmp.Compare(a.GetEnded(), b.GetEnded()), cmp.Compare(a.GetSubmitted(), b.GetSubmitted()), cmp.Compare(a.GetId(), b.GetId()))
	})
	for _, record := range records {
		d := &driver{
			id: record.GetId(), submission: record.GetSubmission(), description: record.GetDescription(),
			submitted: time.Unix(0, record.GetSubmitted()), state: record.GetState(), launch: record.GetLaunch(),
			killing: record.GetKilled(), text: record.GetText(), exitCode: record.GetExitCode(),
			lastWorker: c.workers[record.GetWorkerId()],
		}
		c.skipNumber(d.id)
		if d.submission != "" {
			c.submissions[d.submission] = d.id
		}
		if d.state.Ended() {
			d.ended = time.Unix(0, record.GetEnded())
			for _, old := range c.endedDrivers.add(d) {
				c.put(kindDriver, old.id, nil)
				delete(c.submissions, old.submission)
			}
			continue
		}
		c.drivers[d.id] = d
		running := d.state == protocol.DriverState_DRIVER_LAUNCHING || d.state == protocol.DriverState_DRIVER_RUNNING
		switch {
		case running && d.lastWorker != nil:
			d.run = &driverRun{
				key: driverRunKey{d.id, d.launch}, driver: d, worker: d.lastWorker,
				reserved: reservation{
					cores: int(d.description.GetCores()), memory: d.description.GetMemory(),
					resources: protocol.FromAddresses(record.GetResources()),
				},
			}
			d.lastWorker.capacity.add(d.run.reserved)
			d.lastWorker.runs[d.run.key] = d.run
		case running:
			c.loseDriver(now, d, "its worker was lost while no master led")
		default:
			c.waitingDrivers = append(c.waitingDrivers, d)
		}
	}
}

// skipNumber makes newID use only numbers greater than the number in the id.
func (c *Cluster) skipNumber(id string) {
	if at := strings.LastIndexByte(id, '-'); at >= 0 {
		if n, err := strconv.Atoi(id[at+1:]); err == nil && n < 1<<31 {
			c.nextNumber = max(c.nextNumber, n+1)
		}
	}
}

// endRecoveryIfComplete ends PhaseRecovering if all stored workers and applications have
// attached.
func (c *Cluster) endRecoveryIfComplete(now time.Time) {
	if c.phase != PhaseRecovering {
		return
	}
	for _, w := range c.workers {
		if w.recovered {
			return
		}
	}
	for _, a := range c.applications {
		if a.neverAttached {
			return
		}
	}
	c.endRecovery(now)
}

// endRecovery ends PhaseRecovering, and removes the workers and applications that have not attached.
func (c *Cluster) endRecovery(now time.Time) {
	c.phase = PhaseAlive
	for _, w := range c.workersInOrder() {
		if w.recovered {
			c.loseWorker(now, w, "it did not come back after the master's restart")
		}
	}
	for _, a := range slices.Clone(c.queue) {
		switch {
		case a.neverAttached:
			c.endApplication(now, a, ApplicationLost, "its driver did not come back after the master's restart")
		case !a.sentAllExecutors:
			c.completeNow(a)
		}
	}
	c.dirty = true
	c.note("recovered", "workers", len(c.byAddress), "applications", len(c.applications), "drivers", len(c.drivers))
}

package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

const mib = 1 << 20

func testOptions() Options {
	return Options{
		SpreadOut: true, MaxExecutorRetries: 10, RetainedApplications: 5, RetainedDrivers: 5,
		WorkerTimeout: time.Minute, ReconnectTimeout: 10 * time.Second, RecoveryTimeout: time.Minute,
		DeadWorkerRetention: 15 * time.Minute, Random: rand.New(rand.NewPCG(1, 2)),
	}
}

// sim is a cluster with simulated workers, applications and a store. It runs in one goroutine
// and has a simulated clock.
type sim struct {
	t       require.TestingT
	options Options
	c       *Cluster
	now     time.Time
	store   map[string]recovery.Record
	workers map[string]*simWorker
	apps    map[string]*simApp // by the id of their registration
	stuck   bool               // whether workers ignore orders until the test executes them
}

func newSim(t require.TestingT, options Options) *sim {
	return &sim{
		t: t, options: options, c: New(options), now: time.Unix(1e9, 0),
		store: map[string]recovery.Record{}, workers: map[string]*simWorker{}, apps: map[string]*simApp{},
	}
}

type simProcess struct {
	launch *protocol.LaunchExecutor
	state  protocol.ExecutorState
}

type simDriver struct {
	launch *protocol.LaunchDriver
	state  protocol.DriverState
}

type simWorker struct {
	hello             *protocol.WorkerHello
	attached          bool
	processes         map[executorKey]*simProcess
	drivers           map[driverRunKey]*simDriver
	sequence          uint64
	unacknowledged    []*protocol.WorkerReport // reports of ends that the master has not acknowledged
	finished          []string
	decommissionAsked bool
}

type simApp struct {
	hello     *protocol.ApplicationHello
	attached  bool
	over      bool
	why       string
	request   *protocol.ExecutorRequest
	known     map[uint32]*protocol.ApplicationExecutor
	up        map[uint32]bool // executors that have registered with the driver
	kills     map[uint32]bool
	ends      []*protocol.ExecutorEnd
	received  uint64
	notices   []*protocol.ExecutorNotice
	hindrance string
	failed    failed
}

// worker adds a worker and attaches it.
func (s *sim) worker(id string, cores uint32, memory int64, gpus ...string) *simWorker {
	w := &simWorker{
		hello: &protocol.WorkerHello{
			Version: protocol.Version, WorkerId: id, Host: "host-" + id, Port: 7078, Cores: cores, Memory: memory,
		},
		processes: map[executorKey]*simProcess{}, drivers: map[driverRunKey]*simDriver{},
	}
	if len(gpus) > 0 {
		w.hello.Resources = map[string]*protocol.Addresses{"gpu": {Addresses: gpus}}
	}
	s.workers[id] = w
	s.attachWorker(w)
	return w
}

func (s *sim) attachWorker(w *simWorker) {
	w.hello.Executors, w.hello.Drivers = nil, nil
	for _, report := range w.unacknowledged {
		w.hello.Executors = append(w.hello.Executors, report.GetExecutors()...)
		w.hello.Drivers = append(w.hello.Drivers, report.GetDrivers()...)
	}
	for key, p := range w.processes {
		w.hello.Executors = append(w.hello.Executors, p.report(key))
	}
	for key, d := range w.drivers {
		report := d.report(key)
		report.Description, report.Resources = d.launch.GetDescription(), d.launch.GetResources()
		w.hello.Drivers = append(w.hello.Drivers, report)
	}
	w.hello.Sequence = w.sequence
	w.attached = true
	require.NoError(s.t, s.c.AttachWorker(s.now, w.hello))
}

func (p *simProcess) report(key executorKey) *protocol.ExecutorReport {
	return &protocol.ExecutorReport{
		ApplicationId: key.application, ExecutorId: key.id, State: p.state, Profile: p.launch.GetProfile(),
		Cores: p.launch.GetCores(), Resources: p.launch.GetResources(),
	}
}

func (d *simDriver) report(key driverRunKey) *protocol.DriverReport {
	return &protocol.DriverReport{DriverId: key.driver, Launch: key.launch, State: d.state}
}

func (s *sim) detachWorker(w *simWorker) {
	if w.attached {
		w.attached = false
		s.c.DetachWorker(s.now, w.hello.GetWorkerId())
	}
}

// report sends a report, or sends it when the worker attaches again if the worker is detached.
func (s *sim) report(w *simWorker, report *protocol.WorkerReport) {
	w.sequence++
	report.Sequence = w.sequence
	w.unacknowledged = append(w.unacknowledged, report)
	if w.attached {
		s.c.WorkerReport(s.now, w.hello.GetWorkerId(), report)
	}
}

// endProcess ends the process of an executor on its worker.
func (s *sim) endProcess(w *simWorker, key executorKey, state protocol.ExecutorState, exitCode int32) {
	p := w.processes[key]
	delete(w.processes, key)
	p.state = state
	report := p.report(key)
	report.ExitCode, report.Text = exitCode, fmt.Sprintf("exit code %d", exitCode)
	judge := s.expectEnd(w, key, state)
	s.report(w, &protocol.WorkerReport{Executors: []*protocol.ExecutorReport{report}})
	judge()
	for _, app := range s.apps {
		if app.hello.GetApplicationId() == key.application {
			delete(app.up, key.id)
		}
	}
}

func (s *sim) endDriver(w *simWorker, key driverRunKey, state protocol.DriverState) {
	d := w.drivers[key]
	delete(w.drivers, key)
	d.state = state
	s.report(w, &protocol.WorkerReport{Drivers: []*protocol.DriverReport{d.report(key)}})
}

// app adds an application and attaches it.
func (s *sim) app(registration string, coresMax uint32, demands ...*protocol.ExecutorDemand) *simApp {
	a := &simApp{
		hello: &protocol.ApplicationHello{
			Version: protocol.Version, Registration: registration,
			Description: &protocol.ApplicationDescription{
				Name: registration, CoresMax: coresMax, Command: &protocol.ExecutorCommand{Driver: registration},
			},
		},
		request: &protocol.ExecutorRequest{Demands: demands},
		known:   map[uint32]*protocol.ApplicationExecutor{}, up: map[uint32]bool{}, kills: map[uint32]bool{},
	}
	s.apps[registration] = a
	s.attachApp(a)
	return a
}

func (s *sim) attachApp(a *simApp) {
	a.hello.Executors = slices.Sorted(maps.Keys(a.known))
	for id := range a.known {
		a.hello.HighestExecutorId = max(a.hello.HighestExecutorId, id)
	}
	a.received = 0
	id, err := s.c.AttachApplication(s.now, a.hello)
	if err != nil {
		a.over, a.why = true, err.Error()
		return
	}
	a.hello.ApplicationId, a.attached = id, true
	a.failed.registered(false)
	s.c.ExecutorsRegistered(id, slices.Sorted(maps.Keys(a.up)))
	s.c.KillExecutors(id, slices.Sorted(maps.Keys(a.kills)))
	require.NoError(s.t, s.c.Request(id, a.request))
}

func (s *sim) detachApp(a *simApp) {
	if a.attached {
		a.attached = false
		s.c.DetachApplication(s.now, a.hello.GetApplicationId())
	}
}

func (s *sim) ask(a *simApp, demands ...*protocol.ExecutorDemand) {
	a.request = &protocol.ExecutorRequest{Demands: demands}
	if a.attached {
		require.NoError(s.t, s.c.Request(a.hello.GetApplicationId(), a.request))
	}
}

func (s *sim) killExecutor(a *simApp, id uint32) {
	a.kills[id] = true
	if a.attached {
		s.c.KillExecutors(a.hello.GetApplicationId(), []uint32{id})
	}
}

// register registers an executor with its driver.
func (s *sim) register(a *simApp, id uint32) {
	a.up[id] = true
	a.failed.registered(a.attached && s.launched(a, id))
	if a.attached {
		s.c.ExecutorsRegistered(a.hello.GetApplicationId(), []uint32{id})
	}
}

// pass advances the clock. Attached workers send heartbeats meanwhile.
func (s *sim) pass(d time.Duration) {
	s.now = s.now.Add(d)
	for id, w := range s.workers {
		if w.attached {
			s.c.Heartbeat(s.now, id)
		}
	}
	s.c.Tick(s.now)
	s.settle()
}

// settle calls Schedule and executes the orders, until no effects remain.
func (s *sim) settle() {
	for range 1000 {
		s.c.Schedule(s.now)
		e := s.c.Take()
		for _, change := range e.Changes {
			key := change.Kind + "/" + change.ID
			if change.Data == nil {
				delete(s.store, key)
			} else {
				s.store[key] = change
			}
		}
		if len(e.Workers)+len(e.Applications)+len(e.LostWorkers)+len(e.EndedApplications) == 0 {
			return
		}
		for id, order := range e.Workers {
			s.execute(s.workers[id], order)
		}
		for id, order := range e.Applications {
			for _, a := range s.apps {
				if a.hello.GetApplicationId() == id && a.attached {
					s.receive(a, order)
				}
			}
		}
		for _, id := range e.LostWorkers {
			if w := s.workers[id]; w != nil {
				w.attached = false
			}
		}
		for _, id := range e.EndedApplications {
			for _, a := range s.apps {
				if a.hello.GetApplicationId() == id {
					a.attached, a.over = false, true
				}
			}
		}
	}
	require.Fail(s.t, "the master never comes to rest")
}

// execute executes an order on a worker.
func (s *sim) execute(w *simWorker, order *protocol.WorkerOrder) {
	if w == nil || !w.attached {
		return
	}
	w.unacknowledged = slices.DeleteFunc(w.unacknowledged, func(r *protocol.WorkerReport) bool { return r.GetSequence() <= order.GetAcknowledged() })
	w.finished = append(w.finished, order.GetFinishedApplications()...)
	w.decommissionAsked = w.decommissionAsked || order.GetDecommission()
	for _, launch := range order.GetLaunchExecutors() {
		key := executorKey{launch.GetApplicationId(), launch.GetExecutorId()}
		if w.processes[key] == nil {
			require.NotNil(s.t, launch.GetCommand(), "an executor is launched without its command")
			w.processes[key] = &simProcess{launch: launch}
			s.checkLoad(w)
			if !s.stuck {
				s.start(w, key)
			}
		}
	}
	for _, launch := range order.GetLaunchDrivers() {
		key := driverRunKey{launch.GetDriverId(), launch.GetLaunch()}
		if w.drivers[key] == nil {
			w.drivers[key] = &simDriver{launch: launch, state: protocol.DriverState_DRIVER_RUNNING}
			s.checkLoad(w)
			s.report(w, &protocol.WorkerReport{Drivers: []*protocol.DriverReport{w.drivers[key].report(key)}})
		}
	}
	for _, kill := range order.GetKillExecutors() {
		key := executorKey{kill.GetApplicationId(), kill.GetExecutorId()}
		if w.processes[key] != nil {
			s.endProcess(w, key, protocol.ExecutorState_EXECUTOR_KILLED, 0)
		}
	}
	for _, kill := range order.GetKillDrivers() {
		key := driverRunKey{kill.GetDriverId(), kill.GetLaunch()}
		if w.drivers[key] != nil {
			s.endDriver(w, key, protocol.DriverState_DRIVER_KILLED)
		}
	}
}

// start marks an executor's process as running.
func (s *sim) start(w *simWorker, key executorKey) {
	p := w.processes[key]
	p.state = protocol.ExecutorState_EXECUTOR_RUNNING
	s.report(w, &protocol.WorkerReport{Executors: []*protocol.ExecutorReport{p.report(key)}})
}

// checkLoad checks that the processes on a worker do not exceed its resources.
func (s *sim) checkLoad(w *simWorker) {
	var cores uint32
	var memory int64
	taken := map[string]bool{}
	use := func(resources map[string]*protocol.Addresses) {
		for name, addresses := range resources {
			for _, address := range addresses.GetAddresses() {
				require.False(s.t, taken[name+address], "%s %s is given out twice", name, address)
				taken[name+address] = true
			}
		}
	}
	for _, p := range w.processes {
		cores += p.launch.GetCores()
		memory += p.launch.GetProfile().GetMemory() + p.launch.GetProfile().GetOverhead()
		for name, amount := range p.launch.GetProfile().GetResources() {
			require.Len(s.t, p.launch.GetResources()[name].GetAddresses(), int(amount))
		}
		use(p.launch.GetResources())
	}
	for _, d := range w.drivers {
		cores += d.launch.GetDescription().GetCores()
		memory += d.launch.GetDescription().GetMemory()
		use(d.launch.GetResources())
	}
	require.LessOrEqual(s.t, cores, w.hello.GetCores(), "cores of %s", w.hello.GetWorkerId())
	require.LessOrEqual(s.t, memory, w.hello.GetMemory(), "memory of %s", w.hello.GetWorkerId())
}

// receive applies an order to an application.
func (s *sim) receive(a *simApp, order *protocol.ApplicationOrder) {
	if order.GetComplete() {
		listed := map[uint32]bool{}
		for _, e := range order.GetExecutors() {
			listed[e.GetId()] = true
		}
		maps.DeleteFunc(a.known, func(id uint32, _ *protocol.ApplicationExecutor) bool { return !listed[id] })
		maps.DeleteFunc(a.kills, func(id uint32, _ bool) bool { return !listed[id] })
	}
	for _, e := range order.GetExecutors() {
		a.known[e.GetId()] = e
		a.hello.HighestExecutorId = max(a.hello.HighestExecutorId, e.GetId())
	}
	for _, end := range order.GetEnds() {
		delete(a.known, end.GetId())
		delete(a.kills, end.GetId())
		delete(a.up, end.GetId())
		a.ends = append(a.ends, end)
		require.Greater(s.t, end.GetSequence(), a.received)
		a.received = end.GetSequence()
	}
	a.notices = append(a.notices, order.GetNotices()...)
	if order.Hindrance != nil {
		a.hindrance = order.GetHindrance()
	}
	if order.GetEnd() != nil {
		a.why = order.GetEnd().GetReason()
	}
	if a.attached && a.received > 0 {
		s.c.Acknowledge(a.hello.GetApplicationId(), a.received)
	}
}

// restart replaces the master. If keepStore is false, the new master begins with an empty
// store.
func (s *sim) restart(keepStore bool) {
	for _, w := range s.workers {
		w.attached = false
	}
	for _, a := range s.apps {
		a.attached = false
		a.failed.registered(false)
	}
	if !keepStore {
		clear(s.store)
	}
	s.now = s.now.Add(time.Second)
	s.c = New(s.options)
	require.NoError(s.t, s.c.Recover(s.now, slices.Collect(maps.Values(s.store))))
}

func demand(profile uint32, total, cores uint32, memory int64) *protocol.ExecutorDemand {
	return &protocol.ExecutorDemand{
		Profile: &protocol.ExecutorProfile{Id: profile, Cores: cores, Memory: memory * mib}, Total: total,
	}
}

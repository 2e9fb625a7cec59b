package cluster

import (
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// Status is the state of a cluster as its master shows it.
type Status struct {
	Phase               Phase               `json:"phase"`
	Cores               int                 `json:"cores"` // total of all live workers
	CoresUsed           int                 `json:"coresUsed"`
	Memory              int64               `json:"memory"` // bytes
	MemoryUsed          int64               `json:"memoryUsed"`
	Workers             []WorkerStatus      `json:"workers"`
	Applications        []ApplicationStatus `json:"applications"` // applications that have not ended, in the order of scheduling
	EndedApplications   []ApplicationStatus `json:"endedApplications"`
	Drivers             []DriverStatus      `json:"drivers"`
	EndedDrivers        []DriverStatus      `json:"endedDrivers"`
	WaitingApplications int                 `json:"waitingApplications"` // number of applications without an executor
}

// States of a worker.
const (
	WorkerAlive           = "ALIVE"
	WorkerDisconnected    = "DISCONNECTED"
	WorkerDecommissioning = "DECOMMISSIONING"
	WorkerUnknown         = "UNKNOWN" // the worker is from the store, and has not attached yet
	WorkerDead            = "DEAD"
)

// WorkerStatus describes a worker.
type WorkerStatus struct {
	ID            string                  `json:"id"`
	Host          string                  `json:"host"`
	Port          int                     `json:"port"`
	WebURL        string                  `json:"webUrl,omitempty"`
	State         string                  `json:"state"` // one of the Worker constants
	Reason        string                  `json:"reason,omitempty"`
	Cores         int                     `json:"cores"`
	CoresUsed     int                     `json:"coresUsed"`
	Memory        int64                   `json:"memory"` // bytes
	MemoryUsed    int64                   `json:"memoryUsed"`
	Resources     map[string]ResourceUsed `json:"resources,omitempty"`
	Executors     int                     `json:"executors"`
	Drivers       int                     `json:"drivers"`
	LastHeartbeat time.Time               `json:"lastHeartbeat,omitzero"`
}

// ResourceUsed has the total and the used number of addresses of a worker's resource, such as
// GPUs.
type ResourceUsed struct {
	Total int `json:"total"`
	Used  int `json:"used"`
}

// ApplicationStatus describes an application.
type ApplicationStatus struct {
	ID         string               `json:"id"`
	Name       string               `json:"name"`
	User       string               `json:"user"`
	State      ApplicationState     `json:"state"`
	Reason     string               `json:"reason,omitempty"`
	Started    time.Time            `json:"started"`
	Ended      time.Time            `json:"ended,omitzero"`
	Connected  bool                 `json:"connected"`
	WebURL     string               `json:"webUrl,omitempty"` // URL of the driver's web page while the application runs
	Driver     string               `json:"driver,omitempty"` // id of the driver if it was submitted to the cluster
	Wanted     []RequestedExecutors `json:"wanted,omitempty"`
	CoresMax   int                  `json:"coresMax,omitempty"`
	Cores      int                  `json:"cores"`
	Executors  []ExecutorStatus     `json:"executors,omitempty"`
	Failures   int                  `json:"failures"` // number of consecutive executors that failed before they registered
	WaitReason string               `json:"hindrance,omitempty"`
	Summary    string               `json:"summary,omitempty"` // see protocol.Finish; "" while the application runs
}

// RequestedExecutors is an application's request for executors of one profile.
type RequestedExecutors struct {
	Profile   int              `json:"profile"`
	Total     uint32           `json:"total"` // number of executors; protocol.Unlimited means as many as possible
	Cores     int              `json:"cores"` // cores of each executor; 0 means all cores of a worker
	Memory    int64            `json:"memory"`
	Resources map[string]int64 `json:"resources,omitempty"`
}

// ExecutorStatus describes an executor.
type ExecutorStatus struct {
	ID         int    `json:"id"`
	Profile    int    `json:"profile"`
	Worker     string `json:"worker"`
	Host       string `json:"host"`
	State      string `json:"state"`
	Cores      int    `json:"cores"`
	Memory     int64  `json:"memory"`
	Registered bool   `json:"registered"` // whether the executor has registered with its driver
	LogURL     string `json:"logUrl,omitempty"`
}

// DriverStatus describes a driver that was submitted to the cluster.
type DriverStatus struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	User        string    `json:"user"`
	State       string    `json:"state"`
	Text        string    `json:"text,omitempty"`
	ExitCode    int       `json:"exitCode"`
	Submitted   time.Time `json:"submitted"`
	Ended       time.Time `json:"ended,omitzero"`
	Worker      string    `json:"worker,omitempty"`
	Host        string    `json:"host,omitempty"`
	Cores       int       `json:"cores"`
	Memory      int64     `json:"memory"`
	Supervised  bool      `json:"supervised"`
	Launches    int       `json:"launches"`
	LogURL      string    `json:"logUrl,omitempty"`
	Application string    `json:"application,omitempty"`
	WebURL      string    `json:"webUrl,omitempty"` // URL of the web page of the driver's application while the application runs
}

// Status returns the cluster's state.
func (c *Cluster) Status() Status {
	s := Status{Phase: c.phase}
	for _, w := range c.workersInOrder() {
		s.Workers = append(s.Workers, w.status())
		if !w.dead {
			s.Cores += w.capacity.cores
			s.CoresUsed += w.capacity.usedCores
			s.Memory += w.capacity.memory
			s.MemoryUsed += w.capacity.usedMemory
		}
	}
	for _, a := range c.queue {
		s.Applications = append(s.Applications, a.status())
		if len(a.executors) == 0 {
			s.WaitingApplications++
		}
	}
	for i := len(c.ended.entries) - 1; i >= 0; i-- {
		s.EndedApplications = append(s.EndedApplications, c.ended.entries[i].status())
	}
	for _, d := range c.driversInOrder() {
		shown := d.status()
		shown.WebURL = c.replyFor(d).GetWebUrl()
		s.Drivers = append(s.Drivers, shown)
	}
	for i := len(c.endedDrivers.entries) - 1; i >= 0; i-- {
		s.EndedDrivers = append(s.EndedDrivers, c.endedDrivers.entries[i].status())
	}
	return s
}

func (w *worker) status() WorkerStatus {
	s := WorkerStatus{
		ID: w.id, Host: w.address.host, Port: int(w.address.port), WebURL: w.webURL, State: WorkerAlive,
		Cores: w.capacity.cores, CoresUsed: w.capacity.usedCores, Memory: w.capacity.memory, MemoryUsed: w.capacity.usedMemory,
		Executors: len(w.executors), Drivers: len(w.runs), LastHeartbeat: w.lastHeard,
	}
	switch {
	case w.dead:
		s.State, s.Reason = WorkerDead, w.reason
	case w.recovered:
		s.State = WorkerUnknown
	case !w.attached:
		s.State = WorkerDisconnected
	case w.decommissioning:
		s.State, s.Reason = WorkerDecommissioning, w.reason
	}
	for name, addresses := range w.capacity.resources {
		if s.Resources == nil {
			s.Resources = map[string]ResourceUsed{}
		}
		s.Resources[name] = ResourceUsed{Total: len(addresses), Used: len(w.capacity.used[name])}
	}
	return s
}

func (a *application) status() ApplicationStatus {
	s := ApplicationStatus{
		ID: a.id, Name: a.description.GetName(), User: a.description.GetUser(), State: a.currentState(), Reason: a.reason,
		Started: a.start, Ended: a.ended, Connected: a.attached && !a.hasEnded(), WebURL: a.description.GetWebUrl(),
		Driver: a.description.GetDriverId(), CoresMax: int(a.description.GetCoresMax()), Cores: a.cores,
		Failures: a.failures, WaitReason: a.waitReason, Summary: a.summary,
	}
	if a.hasEnded() {
		s.Cores, s.WaitReason, s.WebURL = 0, "", ""
		return s
	}
	for _, demand := range a.demands {
		profile := demand.GetProfile()
		s.Wanted = append(s.Wanted, RequestedExecutors{
			Profile: int(profile.GetId()), Total: demand.GetTotal(), Cores: int(profile.GetCores()),
			Memory: profile.GetMemory() + profile.GetOverhead(), Resources: profile.GetResources(),
		})
	}
	for _, e := range a.executorsInOrder() {
		s.Executors = append(s.Executors, e.status())
	}
	return s
}

func (e *executor) status() ExecutorStatus {
	s := ExecutorStatus{
		ID: int(e.key.id), Profile: int(e.profile.GetId()), Worker: e.worker.id, Host: e.worker.address.host,
		State: stateName(e.state), Cores: e.reserved.cores, Memory: e.reserved.memory, Registered: e.registered, LogURL: e.logURL,
	}
	switch {
	case e.killing:
		s.State = "KILLING"
	case e.decommissioning:
		s.State = WorkerDecommissioning
	}
	return s
}

func stateName(state protocol.ExecutorState) string {
	return strings.TrimPrefix(state.String(), "EXECUTOR_")
}

func (d *driver) status() DriverStatus {
	s := DriverStatus{
		ID: d.id, Name: d.description.GetName(), User: d.description.GetUser(), State: strings.TrimPrefix(d.state.String(), "DRIVER_"),
		Text: d.text, ExitCode: int(d.exitCode), Submitted: d.submitted, Ended: d.ended, Cores: int(d.description.GetCores()),
		Memory: d.description.GetMemory(), Supervised: d.description.GetSupervise(), Launches: int(d.launch), LogURL: d.logURL,
		Application: d.application,
	}
	if d.lastWorker != nil {
		s.Worker, s.Host = d.lastWorker.id, d.lastWorker.address.host
	}
	return s
}

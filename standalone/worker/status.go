package worker

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Status is the state of a worker. It is served at StatusPath as JSON.
type Status struct {
	ID             string              `json:"id"`
	Host           string              `json:"host"`
	Port           int                 `json:"port"`
	State          string              `json:"state"`  // one of the state constants
	Reason         string              `json:"reason"` // why the worker is decommissioning or stopping; otherwise ""
	Master         string              `json:"master"` // host:port; "" while the worker is not registered
	MasterURL      string              `json:"masterUrl"`
	Started        time.Time           `json:"started"`
	Cores          int                 `json:"cores"`
	CoresUsed      int                 `json:"coresUsed"`
	Memory         config.Size         `json:"memory"`     // bytes
	MemoryUsed     config.Size         `json:"memoryUsed"` // bytes
	Resources      map[string][]string `json:"resources,omitempty"`
	Directory      string              `json:"directory"`
	Executors      []RunStatus         `json:"executors"`
	Drivers        []RunStatus         `json:"drivers"`
	EndedExecutors []RunStatus         `json:"endedExecutors"` // the latest end first
	EndedDrivers   []RunStatus         `json:"endedDrivers"`
}

// States of a worker.
const (
	stateRunning         = "running"
	stateUnregistered    = "unregistered"
	stateDecommissioning = "decommissioning"
	stateStopping        = "stopping"
)

// RunStatus is the state of an executor or of one launch of a driver.
type RunStatus struct {
	Owner     string              `json:"owner"` // id of the application or the driver
	Name      string              `json:"name"`  // the executor's id, or the number of the driver's launch
	State     string              `json:"state"`
	Reason    string              `json:"reason,omitempty"` // why the executor or driver ended
	Cores     int                 `json:"cores"`
	Memory    config.Size         `json:"memory"` // bytes
	Resources map[string][]string `json:"resources,omitempty"`
	Started   time.Time           `json:"started"`
	Ended     *time.Time          `json:"ended,omitempty"`
	Logs      string              `json:"logs"` // URL of the process's logs
}

// StatusPath is the path of Status on a worker's web page, as in Spark.
const StatusPath = "/json"

// status returns the worker's state. It may be called by any goroutine.
func (w *worker) status(ctx context.Context) (Status, error) { return ask(ctx, w, w.currentStatus) }

func (w *worker) currentStatus() Status {
	s := Status{
		ID: w.id, Host: w.machine.host, Port: w.machine.port, State: stateUnregistered, Started: w.began,
		Cores: w.machine.cores, Memory: w.machine.memory, Resources: w.machine.resources, Directory: w.directory.path,
		Executors: []RunStatus{}, Drivers: []RunStatus{}, EndedExecutors: []RunStatus{}, EndedDrivers: []RunStatus{},
	}
	if w.current != nil {
		s.State, s.Master, s.MasterURL = stateRunning, w.current.master, w.current.welcome.GetWebUrl()
	}
	if w.decommission != nil {
		s.State, s.Reason = stateDecommissioning, w.decommission.reason
	}
	if w.stopping != nil {
		s.State, s.Reason = stateStopping, w.stopping.Error()
	}
	for _, r := range w.running {
		s.CoresUsed += r.cores
		s.MemoryUsed += r.memory
		if r.kind == kindDriver {
			s.Drivers = append(s.Drivers, r.status())
		} else {
			s.Executors = append(s.Executors, r.status())
		}
	}
	for _, list := range [][]RunStatus{s.Executors, s.Drivers} {
		slices.SortFunc(list, func(a, b RunStatus) int {
			if order := a.Started.Compare(b.Started); order != 0 {
				return order
			}
			return strings.Compare(a.Owner+"/"+a.Name, b.Owner+"/"+b.Name)
		})
	}
	for _, f := range slices.Backward(w.history) {
		ended := f.status()
		ended.Reason, ended.Ended = f.text, &f.ended
		if f.kind == kindDriver {
			s.EndedDrivers = append(s.EndedDrivers, ended)
		} else {
			s.EndedExecutors = append(s.EndedExecutors, ended)
		}
	}
	return s
}

func (r *running) status() RunStatus {
	return RunStatus{
		Owner: r.owner, Name: r.process, State: r.state, Cores: r.cores, Memory: r.memory, Resources: r.resources,
		Started: r.began, Logs: r.logURL,
	}
}

// stateName returns the name of a state for users, such as "exited" for EXECUTOR_EXITED.
func stateName(state string) string {
	_, name, _ := strings.Cut(state, "_")
	return strings.ToLower(name)
}

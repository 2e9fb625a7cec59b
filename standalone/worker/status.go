package worker

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Status is what a worker tells of itself at StatusPath, as JSON.
type Status struct {
	ID             string              `json:"id"`
	Host           string              `json:"host"`
	Port           int                 `json:"port"`
	State          string              `json:"state"`  // running, unregistered, decommissioning, stopping
	Reason         string              `json:"reason"` // why it is decommissioning or stopping; "" where it is not
	Master         string              `json:"master"` // host:port; "" while there is none
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
	EndedExecutors []RunStatus         `json:"endedExecutors"` // the latest first
	EndedDrivers   []RunStatus         `json:"endedDrivers"`
}

// RunStatus is an executor or a launch of a driver.
type RunStatus struct {
	Owner     string              `json:"owner"` // the application's id, or the driver's
	Name      string              `json:"name"`  // the executor's id, or the number of the launch
	State     string              `json:"state"`
	Reason    string              `json:"reason,omitempty"` // of an end
	Cores     int                 `json:"cores"`
	Memory    config.Size         `json:"memory"` // bytes
	Resources map[string][]string `json:"resources,omitempty"`
	Started   time.Time           `json:"started"`
	Ended     *time.Time          `json:"ended,omitempty"`
	Logs      string              `json:"logs"` // URL
}

// StatusPath is where a worker's page has its Status, as Spark's workers do.
const StatusPath = "/json"

// status asks the loop.
func (w *worker) status(ctx context.Context) (Status, error) { return ask(ctx, w, w.now) }

// now is the status, in the loop.
func (w *worker) now() Status {
	s := Status{
		ID: w.id, Host: w.machine.host, Port: w.machine.port, State: "unregistered", Started: w.began,
		Cores: w.machine.cores, Memory: w.machine.memory, Resources: w.machine.resources, Directory: w.directory.path,
		Executors: []RunStatus{}, Drivers: []RunStatus{}, EndedExecutors: []RunStatus{}, EndedDrivers: []RunStatus{},
	}
	if w.current != nil {
		s.State, s.Master, s.MasterURL = "running", w.current.master, w.current.welcome.GetWebUrl()
	}
	if w.decommission != nil {
		s.State, s.Reason = "decommissioning", w.decommission.reason
	}
	if w.stopping != nil {
		s.State, s.Reason = "stopping", w.stopping.Error()
	}
	for _, r := range w.running {
		s.CoresUsed += r.cores
		s.MemoryUsed += r.memory
		if r.kind == kindDriver {
			s.Drivers = append(s.Drivers, r.shown())
		} else {
			s.Executors = append(s.Executors, r.shown())
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
		told := f.shown()
		told.Reason, told.Ended = f.text, &f.ended
		if f.kind == kindDriver {
			s.EndedDrivers = append(s.EndedDrivers, told)
		} else {
			s.EndedExecutors = append(s.EndedExecutors, told)
		}
	}
	return s
}

func (r *running) shown() RunStatus {
	return RunStatus{
		Owner: r.owner, Name: r.process, State: r.state, Cores: r.cores, Memory: r.memory, Resources: r.resources,
		Started: r.began, Logs: r.logURL,
	}
}

// shown is a state of the protocol as people read it: EXECUTOR_EXITED is
// "exited".
func shown(state string) string {
	_, name, _ := strings.Cut(state, "_")
	return strings.ToLower(name)
}

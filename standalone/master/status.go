package master

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

// Status is a master's state: the content of its web page, of the page's /json, and of the
// reply to Cluster.Status. On a standby, only Phase and the fields before cluster.Status,
// except Term, are set.
type Status struct {
	URL     string    `json:"url"`
	WebURL  string    `json:"webUrl,omitempty"`
	Leader  string    `json:"leader,omitempty"` // host:port of the leader, if another master leads
	Term    uint64    `json:"term,omitempty"`
	Started time.Time `json:"started"` // start time of this master's process
	cluster.Status
}

// Status returns the state of the master.
func (m *Master) Status(ctx context.Context) (Status, error) {
	shown := Status{URL: m.URL(), WebURL: m.WebURL(), Started: m.started, Status: cluster.Status{Phase: cluster.PhaseStandby}}
	if t := m.leading.Load(); t != nil {
		var state cluster.Status
		if err := t.query(ctx, func(time.Time) { state = t.cluster.Status() }); err == nil {
			shown.Term, shown.Status = t.lease.Number(), state
			return shown, nil
		} else if ctx.Err() != nil {
			return shown, err
		}
	}
	if leader := m.backend.Leader(); leader != m.Address() {
		shown.Leader = leader
	}
	return shown, nil
}

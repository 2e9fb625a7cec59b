package master

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

// Standby is the state of a master that does not lead; one that does has a
// cluster.Phase.
const Standby = "STANDBY"

// Status is what a master shows: on its page, as JSON at /json, and by
// Cluster.Status.
type Status struct {
	URL     string    `json:"url"`
	WebURL  string    `json:"webUrl,omitempty"`
	State   string    `json:"state"`            // Standby or a cluster.Phase
	Leader  string    `json:"leader,omitempty"` // host:port, where another master leads
	Term    uint64    `json:"term,omitempty"`
	Started time.Time `json:"started"` // of this master's process
	// Cluster is nil where another master leads.
	Cluster *cluster.Status `json:"cluster,omitempty"`
}

// Status tells what the master has.
func (m *Master) Status(ctx context.Context) (Status, error) {
	shown := Status{URL: m.URL(), WebURL: m.WebURL(), State: Standby, Started: m.started}
	if t := m.leading.Load(); t != nil {
		var of cluster.Status
		if err := t.ask(ctx, func(time.Time) { of = t.cluster.Status() }); err == nil {
			shown.State, shown.Term, shown.Cluster = string(of.Phase), t.lease.Number(), &of
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

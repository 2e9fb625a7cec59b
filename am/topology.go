package am

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// defaultRack is the rack of hosts of which nothing is known
// (NetworkTopology.DEFAULT_RACK).
const defaultRack = "/default-rack"

// topology is the cluster's nodes and racks, as far as they are known: from the
// submission, and then from the ResourceManager's reports. It says which nodes
// can take executors, not which the application wants.
type topology struct {
	racks  map[string]string                   // by host; "" where it was looked up in vain
	nodes  map[string]map[int32]yarn.NodeState // by host and port; none where only the submission told of the host
	offers map[string]need                     // what hosts have for executors, where it is known
	// hosts are those with a NodeManager that takes containers. Sorted is they in
	// order, nil when it is to be made again.
	hosts  map[string]struct{}
	sorted []string
}

func newTopology(racks map[string]string) *topology {
	t := &topology{racks: map[string]string{}, nodes: map[string]map[int32]yarn.NodeState{}, offers: map[string]need{}, hosts: map[string]struct{}{}}
	for host, rack := range racks {
		t.racks[host] = cmp.Or(rack, defaultRack)
		t.hosts[host] = struct{}{}
	}
	return t
}

// rackOf is the host's rack, the default one where it is not known.
func (t *topology) rackOf(host string) string { return cmp.Or(t.racks[host], defaultRack) }

// knownRack is the host's rack, false where it is not known.
func (t *topology) knownRack(host string) (string, bool) {
	rack := t.racks[host]
	return rack, rack != ""
}

// stranger reports whether the host's rack was neither told nor looked up.
func (t *topology) stranger(host string) bool {
	_, ok := t.racks[host]
	return !ok
}

// learn takes the racks of hosts that are no NodeManagers.
func (t *topology) learn(racks map[string]string) {
	for host, rack := range racks {
		if t.stranger(host) {
			t.racks[host] = rack
		}
	}
}

// report takes a node's newest state, and tells whether it changes where
// executors can be asked for.
func (t *topology) report(report yarn.NodeReport) (changed bool) {
	host := report.ID.Host
	states := t.nodes[host]
	if states == nil {
		states = map[int32]yarn.NodeState{}
		t.nodes[host] = states
	}
	states[report.ID.Port] = report.State
	if report.Rack != "" && t.racks[host] != report.Rack {
		t.racks[host] = report.Rack
		changed = true
	}
	if offer := (need{report.Capability, strings.Join(report.Labels, ",")}); report.Capability.MemoryMB > 0 {
		if known, ok := t.offers[host]; !ok || known.label != offer.label || !known.size.Equal(offer.size) {
			t.offers[host] = offer
			changed = true
		}
	}
	usable := false
	for _, state := range states {
		usable = usable || state == yarn.NodeRunning
	}
	if usable == t.usable(host) {
		return changed
	}
	if usable {
		t.hosts[host] = struct{}{}
	} else {
		delete(t.hosts, host)
	}
	t.sorted = nil
	return true
}

// known reports whether any node is known at all.
func (t *topology) known() bool { return len(t.hosts)+len(t.nodes) > 0 }

// usable reports whether a NodeManager of the host takes containers.
func (t *topology) usable(host string) bool {
	_, ok := t.hosts[host]
	return ok
}

// serves reports whether a NodeManager of the host takes containers for a need,
// as far as is known.
func (t *topology) serves(host string, n need) bool {
	offer, known := t.offers[host]
	return t.usable(host) && (!known || n.size.Fits(offer.size) && n.label == offer.label)
}

// leaving reports whether the NodeManager is being decommissioned. Of every
// other state a container that is allocated there is the newer word: the reports
// come later than containers do (RMNodeImpl and the scheduler learn of a node by
// queues of their own), and a node that gives containers lives.
func (t *topology) leaving(node yarn.NodeID) bool {
	return t.nodes[node.Host][node.Port] == yarn.NodeDecommissioning
}

// usableHosts are the hosts that take containers, in order. The slice is not to be
// changed.
func (t *topology) usableHosts() []string {
	if t.sorted == nil {
		t.sorted = slices.Sorted(maps.Keys(t.hosts))
	}
	return t.sorted
}

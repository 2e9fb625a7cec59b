package allocator

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// defaultRack is YARN's rack of unknown hosts (NetworkTopology.DEFAULT_RACK).
const defaultRack = "/default-rack"

// topology contains the known nodes and racks. They come from the submission, from node reports,
// and from look-ups of racks. topology contains which nodes accept containers, but not which nodes
// are excluded.
type topology struct {
	racks       map[string]string                   // by host; "" if the look-up failed
	nodes       map[string]map[int32]yarn.NodeState // states of NodeManagers with a node report, by host and port
	offered     map[string]sizeAndLabel             // total resources and node label of each host, if they are known
	hosts       map[string]struct{}                 // hosts with a NodeManager that accepts containers
	sortedHosts []string                            // keys of hosts, sorted; nil if hosts has changed
}

func newTopology(racks map[string]string) *topology {
	t := &topology{racks: map[string]string{}, nodes: map[string]map[int32]yarn.NodeState{}, offered: map[string]sizeAndLabel{}, hosts: map[string]struct{}{}}
	for host, rack := range racks {
		t.racks[host] = cmp.Or(rack, defaultRack)
		t.hosts[host] = struct{}{}
	}
	return t
}

func (t *topology) rackOf(host string) string { return cmp.Or(t.racks[host], defaultRack) }

func (t *topology) knownRack(host string) (string, bool) {
	rack := t.racks[host]
	return rack, rack != ""
}

// hasRack reports whether the rack of the host was reported, or was looked up with or without
// success.
func (t *topology) hasRack(host string) bool {
	_, ok := t.racks[host]
	return ok
}

func (t *topology) addRacks(racks map[string]string) {
	for host, rack := range racks {
		if !t.hasRack(host) {
			t.racks[host] = rack
		}
	}
}

// report applies a node report. It reports whether the report may change which hosts are best for
// executors.
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
	if offer := (sizeAndLabel{report.Capability, strings.Join(report.Labels, ",")}); report.Capability.MemoryMB > 0 {
		if known, ok := t.offered[host]; !ok || known.label != offer.label || !known.size.Equal(offer.size) {
			t.offered[host] = offer
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
	t.sortedHosts = nil
	return true
}

// hasNodes reports whether any node is known.
func (t *topology) hasNodes() bool { return len(t.hosts)+len(t.nodes) > 0 }

// usable reports whether a NodeManager of the host accepts containers.
func (t *topology) usable(host string) bool {
	_, ok := t.hosts[host]
	return ok
}

// serves reports whether a NodeManager of the host can run an executor with the given requirement.
// If the host's resources are unknown, serves assumes that they are sufficient.
func (t *topology) serves(host string, n sizeAndLabel) bool {
	offer, known := t.offered[host]
	return t.usable(host) && (!known || n.size.Fits(offer.size) && n.label == offer.label)
}

// decommissioning reports whether the node is being decommissioned. When a container is allocated,
// other known states of its node may be outdated, because node reports arrive later than
// allocations (RMNodeImpl and the scheduler have separate event queues).
func (t *topology) decommissioning(node yarn.NodeID) bool {
	return t.nodes[node.Host][node.Port] == yarn.NodeDecommissioning
}

// usableHosts returns the hosts that accept containers, sorted. The caller must not change the
// slice.
func (t *topology) usableHosts() []string {
	if t.sortedHosts == nil {
		t.sortedHosts = slices.Sorted(maps.Keys(t.hosts))
	}
	return t.sortedHosts
}

package am

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// maxNotices bounds how many exclusions that gave way are shown.
const maxNotices = 5

// exclusions are the hosts on which no executor is wanted: the user's
// (yarn.exclude.nodes), the driver's, and the ApplicationMaster's own, of hosts
// on which executors failed. They are never so many that executors of some kind
// that is wanted have no node left: then the ApplicationMaster's own give way, the
// oldest first, and after them the driver's. The user's never do.
type exclusions struct {
	automatic bool          // whether there are any of the ApplicationMaster's own
	perHost   int           // failures that exclude a host
	timeout   time.Duration // how long that lasts, and how long a failure counts
	logger    *slog.Logger

	users    []string
	drivers  []string             // of the newest request
	own      []exclusion          // the oldest first
	failures map[string][]failure // by host, the oldest first

	force  map[string]exclusion // what holds, by host
	sent   map[string]struct{}  // what the ResourceManager knows
	stale  bool                 // force is to be worked out again
	unsent bool                 // sent may differ from force
	next   time.Time            // when the first of own expires
	notes  []string
	hollow bool // it was said that the user's list leaves no node
}

// exclusion is one host that is excluded.
type exclusion struct {
	host   string
	reason string
	until  time.Time // zero for no end
}

// failure is an executor that failed on a host.
type failure struct {
	at   time.Time
	text string
}

func newExclusions(users []string, automatic bool, perHost int, timeout time.Duration, logger *slog.Logger) *exclusions {
	return &exclusions{
		automatic: automatic, perHost: perHost, timeout: timeout, logger: logger,
		users:    users,
		failures: map[string][]failure{},
		force:    map[string]exclusion{},
		sent:     map[string]struct{}{},
		stale:    len(users) > 0,
	}
}

// want takes the driver's exclusions.
func (e *exclusions) want(hosts []string) {
	if !slices.Equal(hosts, e.drivers) {
		e.drivers, e.stale = slices.Clone(hosts), true
	}
}

// recount is to be called when nodes have come or gone, or executors of other
// kinds are wanted.
func (e *exclusions) recount() {
	e.stale = e.stale || len(e.users)+len(e.drivers)+len(e.own) > 0
}

// failed notes that an executor failed on the host, for which the host may be
// to blame.
func (e *exclusions) failed(host, text string, now time.Time) {
	if !e.automatic {
		return
	}
	recent := slices.DeleteFunc(e.failures[host], func(f failure) bool { return now.Sub(f.at) > e.timeout })
	recent = append(recent, failure{now, text})
	e.failures[host] = recent
	if len(recent) < e.perHost {
		return
	}
	added := exclusion{
		host:   host,
		reason: fmt.Sprintf("%d executors failed there; the last: %s", len(recent), text),
		until:  now.Add(e.timeout),
	}
	if at := slices.IndexFunc(e.own, func(x exclusion) bool { return x.host == host }); at >= 0 {
		e.own = slices.Delete(e.own, at, at+1)
	}
	e.own = append(e.own, added)
	e.stale = true
	e.logger.Warn("no more executors on a node where they fail", "host", host, "failures", len(recent), "until", added.until, "last", text)
}

// has reports whether the host is excluded.
func (e *exclusions) has(host string) bool {
	_, ok := e.force[host]
	return ok
}

// refresh works out which exclusions hold, where something has changed, and
// reports whether others hold than before. left counts the nodes that there are
// before any is excluded.
func (e *exclusions) refresh(now time.Time, left func() nodeCounts) bool {
	if !e.stale && (e.next.IsZero() || now.Before(e.next)) {
		return false
	}
	e.stale = false
	e.expire(now)
	before := e.force
	e.force = e.settle(left())
	e.next = time.Time{}
	for _, own := range e.own {
		if e.next.IsZero() || own.until.Before(e.next) {
			e.next = own.until
		}
	}
	changed := !sameHosts(before, e.force)
	e.unsent = e.unsent || changed
	return changed
}

func (e *exclusions) expire(now time.Time) {
	e.own = slices.DeleteFunc(e.own, func(x exclusion) bool {
		if now.Before(x.until) {
			return false
		}
		delete(e.failures, x.host)
		e.logger.Info("executors may run again on a node where they failed", "host", x.host)
		return true
	})
}

// settle puts the exclusions together so that a node is left.
func (e *exclusions) settle(left nodeCounts) map[string]exclusion {
	force := make(map[string]exclusion, len(e.users)+len(e.drivers)+len(e.own))
	for _, host := range e.users {
		left.take(force, exclusion{host: host, reason: "yarn.exclude.nodes"})
	}
	if len(e.users) > 0 && left.none() != e.hollow {
		if e.hollow = left.none(); e.hollow {
			e.logger.Error("yarn.exclude.nodes leaves no node that can take an executor")
		}
	}
	for _, host := range e.drivers {
		if left.last(force, host) {
			e.giveWay(exclusion{host: host, reason: "the driver's"})
			continue
		}
		left.take(force, exclusion{host: host, reason: "tasks fail there: the driver excludes it"})
	}
	// The newest are the first to be kept.
	for _, own := range slices.Backward(e.own) {
		if left.last(force, own.host) {
			e.giveWay(own)
			delete(e.failures, own.host)
			e.own = slices.DeleteFunc(e.own, func(x exclusion) bool { return x.host == own.host })
			continue
		}
		left.take(force, own)
	}
	return force
}

func (e *exclusions) giveWay(x exclusion) {
	e.logger.Warn("executors may run on an excluded node, as no other is left", "host", x.host, "reason", x.reason)
	note := fmt.Sprintf("%s would be excluded (%s), but no other node is left", x.host, x.reason)
	e.notes = append(slices.DeleteFunc(e.notes, func(n string) bool { return n == note }), note)
	e.notes = e.notes[max(0, len(e.notes)-maxNotices):]
}

// need is what executors of one kind ask of a node.
type need struct {
	size  yarn.Resource
	label string
}

// nodeCount counts the nodes that are left for executors of one kind while
// exclusions are put together.
type nodeCount struct {
	serves func(host string) bool
	count  int // before any was excluded; 0 for unknown
	gone   int
}

// nodeCounts has one for each kind of which executors are wanted.
type nodeCounts []nodeCount

// countNodes counts the nodes that can serve each need. clusterNodes is how many
// NodeManagers there are, where the topology does not know them.
func countNodes(nodes *topology, clusterNodes int, needs []need) nodeCounts {
	counts := make(nodeCounts, len(needs))
	for i, need := range needs {
		if !nodes.known() {
			counts[i] = nodeCount{serves: func(string) bool { return true }, count: clusterNodes}
			continue
		}
		counts[i].serves = func(host string) bool { return nodes.serves(host, need) }
		for host := range nodes.hosts {
			if nodes.serves(host, need) {
				counts[i].count++
			}
		}
	}
	return counts
}

func (n nodeCounts) take(force map[string]exclusion, x exclusion) {
	earlier, already := force[x.host]
	for i := range n {
		if !already && n[i].serves(x.host) {
			n[i].gone++
		}
	}
	if !already || !earlier.until.IsZero() {
		force[x.host] = x
	}
}

// none reports that for some kind no node is left.
func (n nodeCounts) none() bool {
	return slices.ContainsFunc(n, func(c nodeCount) bool { return c.count > 0 && c.gone >= c.count })
}

// last reports that for some kind no node would be left without the host.
func (n nodeCounts) last(force map[string]exclusion, host string) bool {
	if _, already := force[host]; already {
		return false
	}
	return slices.ContainsFunc(n, func(c nodeCount) bool { return c.count > 0 && c.gone+1 >= c.count && c.serves(host) })
}

func sameHosts(a, b map[string]exclusion) bool {
	if len(a) != len(b) {
		return false
	}
	for host := range a {
		if _, ok := b[host]; !ok {
			return false
		}
	}
	return true
}

// difference is what the ResourceManager must be told, once.
func (e *exclusions) difference() (add, remove []string) {
	if !e.unsent {
		return nil, nil
	}
	e.unsent = false
	for host := range e.force {
		if _, ok := e.sent[host]; !ok {
			add = append(add, host)
			e.sent[host] = struct{}{}
		}
	}
	for host := range e.sent {
		if !e.has(host) {
			remove = append(remove, host)
			delete(e.sent, host)
		}
	}
	slices.Sort(add)
	slices.Sort(remove)
	return add, remove
}

// forget is for a ResourceManager that knows nothing of the exclusions any
// more: all are told again.
func (e *exclusions) forget() {
	clear(e.sent)
	e.unsent = len(e.force) > 0
}

// list is what holds, by host.
func (e *exclusions) list() []Exclusion {
	listed := make([]Exclusion, 0, len(e.force))
	for _, x := range slices.SortedFunc(maps.Values(e.force), func(a, b exclusion) int { return cmp.Compare(a.host, b.host) }) {
		shown := Exclusion{Host: x.host, Reason: x.reason}
		if !x.until.IsZero() {
			shown.Until = &x.until
		}
		listed = append(listed, shown)
	}
	return listed
}

// notices say what the list does not.
func (e *exclusions) notices() []string {
	notices := slices.Clone(e.notes)
	if e.hollow {
		notices = append(notices, "yarn.exclude.nodes leaves no node that can take an executor")
	}
	return notices
}

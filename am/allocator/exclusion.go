package allocator

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// maxLiftedNotes is how many notes about lifted exclusions are kept.
const maxLiftedNotes = 5

// exclusions are the hosts on which no executor may run: hosts named by the user
// (yarn.exclude.nodes) or by the driver, and hosts on which too many executors failed. If
// a wanted profile would have no node left, exclusions are lifted (not applied): first
// exclusions for failures, beginning with the oldest, then the driver's, never the user's.
type exclusions struct {
	onFailure  bool          // whether hosts on which executors failed are excluded
	maxPerHost int           // number of failures after which a host is excluded
	timeout    time.Duration // how long an exclusion for failures lasts, and how long a failure counts
	logger     *slog.Logger

	byUser    []string
	byDriver  []string             // hosts in the driver's newest request
	byFailure []exclusion          // the oldest first
	failures  map[string][]failure // by host, the oldest first

	active           map[string]exclusion // by host
	atManager        map[string]struct{}  // hosts on the blacklist at the ResourceManager
	activeIsStale    bool                 // active must be recomputed
	hasUnsentChanges bool                 // atManager may differ from active
	nextExpiry       time.Time            // the earliest expiry in byFailure; zero if byFailure is empty
	liftedNotes      []string             // notes about lifted exclusions, the newest last
	noNodeLeft       bool                 // the user's list leaves no node
}

// exclusion is an excluded host, and why it is excluded.
type exclusion struct {
	host   string
	reason string
	until  time.Time // zero if it does not expire
}

// failure is an executor that failed on a host.
type failure struct {
	at   time.Time
	text string
}

func newExclusions(byUser []string, onFailure bool, maxPerHost int, timeout time.Duration, logger *slog.Logger) *exclusions {
	return &exclusions{
		onFailure: onFailure, maxPerHost: maxPerHost, timeout: timeout, logger: logger,
		byUser:        byUser,
		failures:      map[string][]failure{},
		active:        map[string]exclusion{},
		atManager:     map[string]struct{}{},
		activeIsStale: len(byUser) > 0,
	}
}

// setByDriver sets the driver's exclusions.
func (e *exclusions) setByDriver(hosts []string) {
	if !slices.Equal(hosts, e.byDriver) {
		e.byDriver, e.activeIsStale = slices.Clone(hosts), true
	}
}

// invalidate makes the next refresh recompute the active exclusions. It is called after
// nodes or the wanted profiles have changed.
func (e *exclusions) invalidate() {
	e.activeIsStale = e.activeIsStale || len(e.byUser)+len(e.byDriver)+len(e.byFailure) > 0
}

// failed counts an executor that failed on the host, and excludes the host after too many.
func (e *exclusions) failed(host, text string, now time.Time) {
	if !e.onFailure {
		return
	}
	recent := slices.DeleteFunc(e.failures[host], func(f failure) bool { return now.Sub(f.at) > e.timeout })
	recent = append(recent, failure{now, text})
	e.failures[host] = recent
	if len(recent) < e.maxPerHost {
		return
	}
	added := exclusion{
		host:   host,
		reason: fmt.Sprintf("%d executors failed there; the last: %s", len(recent), text),
		until:  now.Add(e.timeout),
	}
	e.byFailure = slices.DeleteFunc(e.byFailure, func(x exclusion) bool { return x.host == host })
	e.byFailure = append(e.byFailure, added)
	e.activeIsStale = true
	e.logger.Warn("no more executors on a node where they fail", "host", host, "failures", len(recent), "until", added.until, "last", text)
}

func (e *exclusions) has(host string) bool {
	_, ok := e.active[host]
	return ok
}

// refresh recomputes the active exclusions if necessary, and reports whether the set
// of excluded hosts has changed. count returns the number of nodes for each wanted
// profile.
func (e *exclusions) refresh(now time.Time, count func() nodeCounts) bool {
	if !e.activeIsStale && (e.nextExpiry.IsZero() || now.Before(e.nextExpiry)) {
		return false
	}
	e.activeIsStale = false
	e.expire(now)
	before := e.active
	e.active = e.resolve(count())
	e.nextExpiry = time.Time{}
	for _, x := range e.byFailure {
		if e.nextExpiry.IsZero() || x.until.Before(e.nextExpiry) {
			e.nextExpiry = x.until
		}
	}
	changed := !maps.EqualFunc(before, e.active, func(exclusion, exclusion) bool { return true }) // the hosts only
	e.hasUnsentChanges = e.hasUnsentChanges || changed
	return changed
}

func (e *exclusions) expire(now time.Time) {
	e.byFailure = slices.DeleteFunc(e.byFailure, func(x exclusion) bool {
		if now.Before(x.until) {
			return false
		}
		delete(e.failures, x.host)
		e.logger.Info("executors may run again on a node where they failed", "host", x.host)
		return true
	})
}

// resolve returns the exclusions to apply, by host, and lifts the others.
func (e *exclusions) resolve(nodes nodeCounts) map[string]exclusion {
	active := make(map[string]exclusion, len(e.byUser)+len(e.byDriver)+len(e.byFailure))
	for _, host := range e.byUser {
		nodes.exclude(active, exclusion{host: host, reason: "yarn.exclude.nodes"})
	}
	if len(e.byUser) > 0 && nodes.hasProfileWithoutNode() != e.noNodeLeft {
		if e.noNodeLeft = nodes.hasProfileWithoutNode(); e.noNodeLeft {
			e.logger.Error("yarn.exclude.nodes leaves no node that can take an executor")
		}
	}
	for _, host := range e.byDriver {
		if nodes.isLast(active, host) {
			e.lift(exclusion{host: host, reason: "the driver's"})
			continue
		}
		nodes.exclude(active, exclusion{host: host, reason: "tasks fail there: the driver excludes it"})
	}
	for _, newest := range slices.Backward(e.byFailure) {
		if nodes.isLast(active, newest.host) {
			e.lift(newest)
			delete(e.failures, newest.host)
			e.byFailure = slices.DeleteFunc(e.byFailure, func(x exclusion) bool { return x.host == newest.host })
			continue
		}
		nodes.exclude(active, newest)
	}
	return active
}

// lift logs and notes that an exclusion is not applied.
func (e *exclusions) lift(x exclusion) {
	e.logger.Warn("executors may run on an excluded node, as no other is left", "host", x.host, "reason", x.reason)
	note := fmt.Sprintf("%s would be excluded (%s), but no other node is left", x.host, x.reason)
	e.liftedNotes = append(slices.DeleteFunc(e.liftedNotes, func(n string) bool { return n == note }), note)
	e.liftedNotes = e.liftedNotes[max(0, len(e.liftedNotes)-maxLiftedNotes):]
}

// nodeRequirement has the resources and node label that executors need, or that a node offers.
type nodeRequirement struct {
	size  yarn.Resource
	label string
}

// nodeCount counts the nodes that can run executors of one profile.
type nodeCount struct {
	serves   func(host string) bool
	count    int // the number of these nodes, excluded or not; 0 if unknown
	excluded int // how many of these nodes are excluded
}

// nodeCounts has an element for each wanted profile.
type nodeCounts []nodeCount

// countNodes counts, for each need, the nodes that can serve it. If the topology knows no
// node, it assumes that all nodes of the cluster, whose number is clusterNodes, can.
func countNodes(nodes *topology, clusterNodes int, needs []nodeRequirement) nodeCounts {
	counts := make(nodeCounts, len(needs))
	for i, need := range needs {
		if !nodes.hasNodes() {
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

// exclude adds an exclusion to the active exclusions, unless the host already has one that
// does not expire.
func (n nodeCounts) exclude(active map[string]exclusion, x exclusion) {
	earlier, excluded := active[x.host]
	for i := range n {
		if !excluded && n[i].serves(x.host) {
			n[i].excluded++
		}
	}
	if !excluded || !earlier.until.IsZero() {
		active[x.host] = x
	}
}

// hasProfileWithoutNode reports whether all nodes of some profile are excluded.
func (n nodeCounts) hasProfileWithoutNode() bool {
	return slices.ContainsFunc(n, func(c nodeCount) bool { return c.count > 0 && c.excluded >= c.count })
}

// isLast reports whether excluding the host would leave a profile without a node.
func (n nodeCounts) isLast(active map[string]exclusion, host string) bool {
	if _, excluded := active[host]; excluded {
		return false
	}
	return slices.ContainsFunc(n, func(c nodeCount) bool { return c.count > 0 && c.excluded+1 >= c.count && c.serves(host) })
}

// changes returns the blacklist changes to send, and records them as sent.
func (e *exclusions) changes() (add, remove []string) {
	if !e.hasUnsentChanges {
		return nil, nil
	}
	e.hasUnsentChanges = false
	for host := range e.active {
		if _, ok := e.atManager[host]; !ok {
			add = append(add, host)
			e.atManager[host] = struct{}{}
		}
	}
	for host := range e.atManager {
		if !e.has(host) {
			remove = append(remove, host)
			delete(e.atManager, host)
		}
	}
	slices.Sort(add)
	slices.Sort(remove)
	return add, remove
}

// resendAll makes the next call of changes return all exclusions, for a restarted ResourceManager.
func (e *exclusions) resendAll() {
	clear(e.atManager)
	e.hasUnsentChanges = len(e.active) > 0
}

// list returns the active exclusions, sorted by host.
func (e *exclusions) list() []Exclusion {
	listed := make([]Exclusion, 0, len(e.active))
	for _, x := range slices.SortedFunc(maps.Values(e.active), func(a, b exclusion) int { return cmp.Compare(a.host, b.host) }) {
		shown := Exclusion{Host: x.host, Reason: x.reason}
		if !x.until.IsZero() {
			shown.Until = &x.until
		}
		listed = append(listed, shown)
	}
	return listed
}

func (e *exclusions) notes() []string {
	notes := slices.Clone(e.liftedNotes)
	if e.noNodeLeft {
		notes = append(notes, "yarn.exclude.nodes leaves no node that can take an executor")
	}
	return notes
}

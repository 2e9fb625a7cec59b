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

// maxLiftedNotes is the maximum number of notes about lifted exclusions.
const maxLiftedNotes = 5

// exclusions are the hosts on which no executor may run: hosts that the user (yarn.exclude.nodes)
// or the driver excludes, and hosts on which too many executors failed. If the exclusions would
// leave no node for the executors of a resource profile that the driver requests, some exclusions
// are lifted, which means that they are not applied: first the exclusions for failures, the oldest
// first, and then those of the driver. Exclusions of the user are never lifted.
type exclusions struct {
	onFailure  bool          // exclude hosts on which executors fail
	maxPerHost int           // number of failures that exclude a host
	timeout    time.Duration // duration of an exclusion for failures, and of the time in which a failure counts
	logger     *slog.Logger

	byUser    []string
	byDriver  []string             // hosts that the driver's latest request excludes
	byFailure []exclusion          // exclusions for failures, the oldest first
	failures  map[string][]failure // by host; the oldest first

	active           map[string]exclusion // applied exclusions, by host
	atManager        map[string]struct{}  // hosts that the blacklist of the ResourceManager contains
	activeIsStale    bool                 // active must be recomputed
	hasUnsentChanges bool                 // atManager may differ from active
	nextExpiry       time.Time            // earliest expiry in byFailure; zero if byFailure is empty
	liftedNotes      []string             // notes about lifted exclusions, the newest last
	noNodeLeft       bool                 // the exclusions of the user leave no node
}

// exclusion is an excluded host, with the reason.
type exclusion struct {
	host   string
	reason string
	until  time.Time // end of the exclusion; zero if it does not expire
}

// failure is the failure of an executor on a host.
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

// setByDriver sets the hosts that the driver excludes.
func (e *exclusions) setByDriver(hosts []string) {
	if !slices.Equal(hosts, e.byDriver) {
		e.byDriver, e.activeIsStale = slices.Clone(hosts), true
	}
}

// invalidate makes the next call of refresh recompute the active exclusions. It is called after a
// change of the nodes, or of the profiles for which the driver wants executors.
func (e *exclusions) invalidate() {
	e.activeIsStale = e.activeIsStale || len(e.byUser)+len(e.byDriver)+len(e.byFailure) > 0
}

// failed records that an executor failed on the host. It excludes the host if too many executors
// failed.
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

// refresh recomputes the active exclusions if necessary, and reports whether the set of excluded
// hosts has changed. count counts the nodes for each profile for which the driver wants executors.
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
	changed := !maps.EqualFunc(before, e.active, func(exclusion, exclusion) bool { return true }) // compares only the hosts
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

// resolve returns the exclusions to apply, by host. It lifts the other exclusions.
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

// lift logs a lifted exclusion and adds a note about it.
func (e *exclusions) lift(x exclusion) {
	e.logger.Warn("executors may run on an excluded node, as no other is left", "host", x.host, "reason", x.reason)
	note := fmt.Sprintf("%s would be excluded (%s), but no other node is left", x.host, x.reason)
	e.liftedNotes = append(slices.DeleteFunc(e.liftedNotes, func(n string) bool { return n == note }), note)
	e.liftedNotes = e.liftedNotes[max(0, len(e.liftedNotes)-maxLiftedNotes):]
}

// sizeAndLabel is the size and the node label that executors require, or that a node offers.
type sizeAndLabel struct {
	size  yarn.Resource
	label string
}

// nodeCount is the number of nodes that can run executors of one profile.
type nodeCount struct {
	serves   func(host string) bool
	count    int // number of these nodes, including excluded ones; 0 if unknown
	excluded int // number of excluded nodes among these
}

// nodeCounts contains one element for each profile for which the driver wants executors.
type nodeCounts []nodeCount

// countNodes counts, for each requirement in needs, the nodes that satisfy it. If the topology
// contains no node, countNodes assumes that each node of the cluster satisfies every requirement.
// clusterNodes is the number of nodes of the cluster.
func countNodes(nodes *topology, clusterNodes int, needs []sizeAndLabel) nodeCounts {
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

// exclude adds x to the active exclusions. It does nothing if the host already has an exclusion
// that does not expire.
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

// isLast reports whether some profile would have no node left if the host were excluded.
func (n nodeCounts) isLast(active map[string]exclusion, host string) bool {
	if _, excluded := active[host]; excluded {
		return false
	}
	return slices.ContainsFunc(n, func(c nodeCount) bool { return c.count > 0 && c.excluded+1 >= c.count && c.serves(host) })
}

// changes returns the changes of the blacklist for the next heartbeat, and records them as sent.
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

// resendAll makes the next call of changes return all exclusions, because the ResourceManager has
// restarted.
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

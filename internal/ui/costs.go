package ui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

const (
	// mostCosts is the maximum number of costs that Costs returns.
	mostCosts = 3
	// Costs returns only costs of at least leastCost, and of at least 1/leastCostShare of the
	// running time of the application.
	leastCost      = 100 * time.Millisecond
	leastCostShare = 50
	// spillBytes estimates how many bytes an executor can spill and read again in a second.
	spillBytes = 100 << 20
)

// costEstimate is a reason why an application did not end sooner.
type costEstimate struct {
	text string
	lost time.Duration // by how much the cost delayed the end of the application, approximately
}

// Costs returns the largest delays of an application, as at most three texts such as "waiting
// for executors 2.1 s", the largest first. It is meant for applications that have ended,
// because it iterates over all attempts. If the application has not ended, now is used as the
// time of its end.
func Costs(s *events.Snapshot, now time.Time) []string {
	if s == nil {
		return nil
	}
	v := view{Snapshot: s, now: now}
	began, ended := s.Application.Time.Time, v.end(s.Application.Ended)
	least := max(leastCost, ended.Sub(began)/leastCostShare)
	costs := []costEstimate{v.executorCost(ended)}
	if use := v.coreUse(ended); use.cores > 0 {
		skew := v.skewCost()
		overhead := use.overheadCost(v.Totals.Counts)
		costs = append(costs, use.betweenCost(), v.failureCost(use.cores), v.spillCost(use.executors), skew, overhead, use.idleCost(skew.lost+overhead.lost))
	}
	costs = slices.DeleteFunc(costs, func(c costEstimate) bool { return c.lost < least })
	slices.SortStableFunc(costs, func(a, b costEstimate) int { return int(b.lost - a.lost) })
	var texts []string
	for _, c := range costs[:min(len(costs), mostCosts)] {
		texts = append(texts, c.text)
	}
	return texts
}

// executorCost is the time from the first request for executors until the first registration.
func (v view) executorCost(ended time.Time) costEstimate {
	var requested, registered time.Time
	for _, p := range v.Profiles {
		if !p.Requested.IsZero() && (requested.IsZero() || p.Requested.Before(requested)) {
			requested = p.Requested
		}
	}
	if requested.IsZero() {
		return costEstimate{}
	}
	for _, e := range v.Executors {
		if !e.Registered.IsZero() && (registered.IsZero() || e.Registered.Before(registered)) {
			registered = e.Registered
		}
	}
	if registered.IsZero() {
		registered = ended
	}
	waited := registered.Sub(requested)
	return costEstimate{"waiting for executors " + duration(waited), waited}
}

// coreUse summarizes the use of the executors' cores. held and busy are core time: times that
// are summed over all cores.
type coreUse struct {
	lasted    time.Duration // from the first registration of an executor until the end
	inJobs    time.Duration // the time in lasted during which at least one job ran
	held      time.Duration // core time of all registered executors during inJobs
	busy      time.Duration // core time that tasks occupied
	cores     float64       // mean number of cores during lasted
	executors float64       // mean number of executors during lasted
}

func (v view) coreUse(ended time.Time) coreUse {
	var u coreUse
	var first time.Time
	var held, executors time.Duration
	for _, e := range v.Executors {
		if e.Registered.IsZero() {
			continue
		}
		if first.IsZero() || e.Registered.Before(first) {
			first = e.Registered
		}
		until := e.Lost
		if until.IsZero() || until.After(ended) {
			until = ended
		}
		lasted := max(0, until.Sub(e.Registered))
		executors += lasted
		held += lasted * time.Duration(e.Cores)
	}
	if u.lasted = ended.Sub(first); first.IsZero() || u.lasted <= 0 {
		return u
	}
	u.cores, u.executors = held.Seconds()/u.lasted.Seconds(), executors.Seconds()/u.lasted.Seconds()
	u.inJobs = v.inJobs(first, ended)
	u.held = time.Duration(u.inJobs.Seconds() * u.cores * float64(time.Second))
	u.busy = (v.Totals.Sums.Took - v.Totals.Sums.Queue).Duration()
	return u
}

// inJobs returns the time between from and to during which at least one job ran. It returns the
// whole time between them if old jobs have been removed from the snapshot.
func (v view) inJobs(from, to time.Time) time.Duration {
	if len(v.Jobs) < v.Totals.Jobs {
		return to.Sub(from)
	}
	type span struct{ begin, end time.Time }
	var spans []span
	for _, j := range v.Jobs {
		s := span{j.Time.Time, v.end(j.Ended)}
		if s.begin.Before(from) {
			s.begin = from
		}
		if s.end.After(to) {
			s.end = to
		}
		spans = append(spans, s)
	}
	slices.SortFunc(spans, func(a, b span) int { return a.begin.Compare(b.begin) })
	var sum time.Duration
	covered := from
	for _, s := range spans {
		if s.begin.Before(covered) {
			s.begin = covered
		}
		if s.end.After(s.begin) {
			sum += s.end.Sub(s.begin)
			covered = s.end
		}
	}
	return sum
}

// betweenCost is the time during which executors were registered, but no job ran.
func (u coreUse) betweenCost() costEstimate {
	lost := u.lasted - u.inJobs
	return costEstimate{"no job ran for " + duration(lost) + ": the driver function did other work", lost}
}

// overheadCost is the part of the attempts' time in which they neither ran their function nor
// waited for a core. It is limited to the core time in which no function ran.
func (u coreUse) overheadCost(c events.Counts) costEstimate {
	outside := (c.Sums.Took - c.Sums.Queue - c.Sums.Run).Duration()
	attempts := c.Done + c.FailedAttempts + c.LostAttempts + c.KilledAttempts
	if outside <= 0 || attempts == 0 {
		return costEstimate{}
	}
	idle := max(0, u.held-c.Sums.Run.Duration())
	return costEstimate{
		fmt.Sprintf("starting and ending %s, %s each", plural(attempts, "task attempt"), duration(outside/time.Duration(attempts))),
		time.Duration(float64(min(outside, idle)) / u.cores),
	}
}

// idleCost is the time lost because cores were idle while jobs ran, minus explained, the part
// that other costs include already.
func (u coreUse) idleCost(explained time.Duration) costEstimate {
	lost := time.Duration(float64(max(0, u.held-u.busy))/u.cores) - explained
	busy := u.busy.Seconds() / max(u.inJobs.Seconds(), 1e-3)
	return costEstimate{fmt.Sprintf("idle cores: %s of %s ran tasks on average while jobs ran", meanText(busy), meanText(u.cores)), lost}
}

// meanText formats a mean. It prints one decimal if the mean is below 10.
func meanText(n float64) string {
	if n < 9.95 {
		return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0")
	}
	return count(int(math.Round(n)))
}

// failureCost is the time of attempts that failed or whose executors were lost.
func (v view) failureCost(cores float64) costEstimate {
	var took time.Duration
	for a := range v.Attempts() {
		if a.Outcome == events.OutcomeFailed || a.Outcome == events.OutcomeExecutorLost {
			took += a.Took() - a.Queue.Duration()
		}
	}
	n := v.Totals.FailedAttempts + v.Totals.LostAttempts
	return costEstimate{plural(n, "failed or lost attempt") + " ran for " + duration(took), time.Duration(float64(took) / cores)}
}

// spillCost is the estimated time of spilling records to disk and reading them again.
func (v view) spillCost(executors float64) costEstimate {
	var spilled int64
	for m := range v.Measurements() {
		spilled += m.Spilled
	}
	return costEstimate{"spilled " + size(spilled) + " to disk", time.Duration(float64(spilled) / spillBytes / executors * float64(time.Second))}
}

// skewCost is the longest time during which only skewed tasks of a task set ran, after its
// other tasks had ended.
func (v view) skewCost() costEstimate {
	perSet := map[uint64][]*events.Attempt{}
	for a := range v.Attempts() {
		if a.Outcome == events.OutcomeSucceeded {
			perSet[a.Set] = append(perSet[a.Set], a)
		}
	}
	var worst costEstimate
	for id, attempts := range perSet {
		if len(attempts) < 3 {
			continue
		}
		took := make([]events.Micros, len(attempts))
		for i, a := range attempts {
			took[i] = a.End - a.Start - a.Queue
		}
		slices.Sort(took)
		limit := skewFactor * quantile(took, .5)
		var normal, last events.Micros // latest end of a task that is not skewed, and of a skewed task
		var longest *events.Attempt
		for _, a := range attempts {
			own := a.End - a.Start - a.Queue
			if own < limit {
				normal = max(normal, a.End)
				continue
			}
			last = max(last, a.End)
			if longest == nil || own > longest.End-longest.Start-longest.Queue {
				longest = a
			}
		}
		lost := (last - normal).Duration()
		if longest == nil || normal == 0 || lost <= worst.lost {
			continue
		}
		name := "task set " + formatID(id)
		if _, set := v.Set(id); set != nil {
			name = firstLine(lowered(setTitle(set)), 60)
		}
		own, median := longest.End-longest.Start-longest.Queue, quantile(took, .5)
		worst = costEstimate{fmt.Sprintf("skew in %s: task %d took %s, %.1f times the median", name, longest.Task, micros(int64(own)), float64(own)/float64(max(median, 1))), lost}
	}
	return worst
}

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
	// mostCosts is how many costs are named.
	mostCosts = 3
	// leastCost is the least time that is worth naming, and leastCostShare the least share of
	// the application's time: one in so many.
	leastCost      = 100 * time.Millisecond
	leastCostShare = 50
	// spillBytes is how many bytes an executor spills and reads again in a second, about.
	spillBytes = 100 << 20
)

// costEstimate is a reason why an application did not end sooner.
type costEstimate struct {
	text string
	lost time.Duration // how much sooner it would have ended, about
}

// Costs returns what cost an application the most time, at most three texts such as
// "waiting for executors 2.1 s", the worst first. It looks at all rows: it is for the end
// of an application. now is the end if the application has none yet.
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

// executorCost is the time from the first request for executors until one registered.
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

// coreUse is how the cores of executors were used.
type coreUse struct {
	lasted    time.Duration // from the first registration of an executor until the end
	inJobs    time.Duration // in which a job ran
	held      time.Duration // of all cores together
	busy      time.Duration // of all cores together, in tasks
	cores     float64       // on average
	executors float64       // on average
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

// inJobs returns how much of a span of time at least one job ran in; all of it if jobs are
// too old to be known.
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

// betweenCost is the time in which executors were there and no job ran.
func (u coreUse) betweenCost() costEstimate {
	lost := u.lasted - u.inJobs
	return costEstimate{"no job ran for " + duration(lost) + ": the driver function did other work", lost}
}

// overheadCost is the time of attempts outside of their functions and beyond the wait for a
// core, as far as cores were idle meanwhile.
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

// idleCost is the time that is lost with idle cores while jobs ran, beyond what other costs
// explain.
func (u coreUse) idleCost(explained time.Duration) costEstimate {
	lost := time.Duration(float64(max(0, u.held-u.busy))/u.cores) - explained
	busy := u.busy.Seconds() / max(u.inJobs.Seconds(), 1e-3)
	return costEstimate{fmt.Sprintf("idle cores: %s of %s ran tasks on average while jobs ran", meanText(busy), meanText(u.cores)), lost}
}

// meanText formats a mean number, below 10 with a decimal.
func meanText(n float64) string {
	if n < 9.95 {
		return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0")
	}
	return count(int(math.Round(n)))
}

// failureCost is the time in attempts that failed or lost their executors.
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

// spillCost is the time to spill records and to read them again.
func (v view) spillCost(executors float64) costEstimate {
	var spilled int64
	for m := range v.Measurements() {
		spilled += m.Spilled
	}
	return costEstimate{"spilled " + size(spilled) + " to disk", time.Duration(float64(spilled) / spillBytes / executors * float64(time.Second))}
}

// skewCost is the longest time that a task set ran only because of skewed tasks.
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
		var normal, last events.Micros // the ends of the last task that is not skewed, and of the last one
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

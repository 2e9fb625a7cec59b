package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/allocation"
	"github.com/bobbin-yarn/bobbin/internal/events"
)

// mostShown is the maximum number of jobs, failures or tasks in a summary on a page.
const mostShown = 10

// overview shows the progress of the application, and problems that prevent progress.
func overview(v view) content {
	c := content{Title: "Overview"}
	summary := section{ID: "summary", Notes: v.attention(), Facts: v.totals()}
	if v.Totals.Tasks > 0 {
		summary.Progress = &progress{Share: float64(v.Totals.Done) / float64(v.Totals.Tasks), Text: v.progressText()}
	}
	c.Sections = append(c.Sections, summary)
	if !running(v.Snapshot) && !v.partial {
		c.Sections = append(c.Sections, v.costsSection()...)
	}
	active, ended := split(v.Jobs, func(job *events.Job) bool { return job.Ended.IsZero() })
	if running(v.Snapshot) {
		c.Sections = append(c.Sections, section{ID: "running", Title: "Running jobs",
			Table: v.jobTable("running", "Running jobs", "No job runs.", active)})
	}
	if len(v.Failures) > 0 {
		c.Sections = append(c.Sections, v.failureSection(v.Failures))
	}
	slices.Reverse(ended)
	c.Sections = append(c.Sections, section{ID: "ended", Title: "Last jobs",
		Table: v.jobTable("ended", "Last jobs", "No job has ended.", ended[:min(len(ended), mostShown)])})
	var sets []*events.TaskSet
	for _, job := range v.Jobs {
		sets = append(sets, job.Sets...)
	}
	c.Sections = append(c.Sections, valueSections(sets...)...)
	return c
}

// costsSection lists the largest delays of an application that has ended (see Costs).
func (v view) costsSection() []section {
	var notes []note
	for i, text := range Costs(v.Snapshot, v.now) {
		notes = append(notes, note{Level: fmt.Sprintf("%d.", i+1), Cells: []cell{{Text: visible(text)}}})
	}
	if len(notes) == 0 {
		return nil
	}
	return []section{{ID: "costs", Title: "What took the most time", Notes: notes}}
}

func split[T any](all []T, first func(T) bool) (yes, no []T) {
	for _, item := range all {
		if first(item) {
			yes = append(yes, item)
		} else {
			no = append(no, item)
		}
	}
	return yes, no
}

func (v view) progressText() string {
	t := v.Totals
	s := fmt.Sprintf("%s of %s done", count(t.Done), plural(t.Tasks, "task"))
	if t.Running > 0 && running(v.Snapshot) {
		s += ", " + count(t.Running) + " running"
	}
	if left, ok := v.remaining(); ok {
		s += ", about " + strings.Replace(duration(max(left.Round(time.Second), time.Second)), ".0 s", " s", 1) + " left of the running jobs"
	}
	return s
}

// remaining estimates the remaining time of the running task sets, if they continue to use as
// many cores as now. It returns false if a task set has no successful task yet, or if no task
// runs.
func (v view) remaining() (time.Duration, bool) {
	if !running(v.Snapshot) {
		return 0, false
	}
	var work time.Duration
	attempts := 0
	for _, job := range v.Jobs {
		if !job.Ended.IsZero() {
			continue
		}
		for _, set := range job.Sets {
			left := set.Counts.Tasks - set.Counts.Done
			if !set.Ended.IsZero() || left <= 0 {
				continue
			}
			if set.Counts.Done == 0 {
				return 0, false
			}
			// On average, half of each running task is done.
			tasks := max(float64(left)-float64(set.Counts.Running)/2, float64(left)/2)
			work += time.Duration(tasks * float64(set.Counts.MeanTook()))
			attempts += set.Counts.Running
		}
	}
	if attempts == 0 || work == 0 {
		return 0, false
	}
	return work / time.Duration(attempts), true
}

func (v view) totals() []fact {
	t := v.Totals
	present := []fact{
		{Name: "Cores busy", Hint: "Cores of registered executors that run tasks", Cells: []cell{share(float64(t.CoresBusy), float64(t.Cores), fmt.Sprintf("%s of %s", count(t.CoresBusy), count(t.Cores)))}},
		{Name: "Executors registered", Hint: "Of those that the driver wants now", Cells: []cell{text(v.registeredText())}},
		{Name: "Cores wanted", Hint: "Of all executors that the driver wants now", Cells: []cell{nonzero(v.coresWanted(), count)}},
	}
	if !running(v.Snapshot) {
		present = []fact{{Name: "Executors", Hint: "All that registered", Cells: []cell{number(v.everRegistered())}}}
	}
	facts := append(append(v.stepsFact(), present...), []fact{
		{Name: "Executors lost", Hint: "That were not told to stop", Cells: []cell{failures(t.Lost)}},
		{Name: "Failed attempts", Cells: []cell{failures(t.FailedAttempts)}},
		{Name: "Lost attempts", Hint: "Whose executors were lost", Cells: []cell{failures(t.LostAttempts)}},
		{Name: "Speculative attempts", Cells: []cell{nonzero(t.SpeculativeCopies, count)}},
		{Name: "Time in tasks", Cells: []cell{nonzero(int64(t.Sums.Took), func(n int64) string { return duration(events.Micros(n).Duration()) })}},
		{Name: "Read", Cells: []cell{nonzero(t.Sums.BytesRead, size)}},
		{Name: "Written", Cells: []cell{nonzero(t.Sums.BytesWritten, size)}},
	}...)
	return noZero(facts)
}

// everRegistered returns the number of executors that have registered, including lost ones.
func (v view) everRegistered() int {
	n := 0
	for _, e := range v.Executors {
		if !e.Registered.IsZero() {
			n++
		}
	}
	return n
}

// wanted formats a target number of executors.
func wanted(n int) string {
	if n >= allocation.Unbounded {
		return "as many as the cluster has room for"
	}
	return count(n)
}

// registeredText returns the number of registered executors, followed by the target number. It
// omits the target number if it is unlimited, or 0 because the master is local.
func (v view) registeredText() string {
	if v.Totals.Wanted == 0 || v.Totals.Wanted >= allocation.Unbounded {
		return count(v.Totals.Registered)
	}
	return count(v.Totals.Registered) + " of " + count(v.Totals.Wanted)
}

// coresWanted returns the cores of the target number of executors; 0 if this number is
// unlimited.
func (v view) coresWanted() int {
	if v.Totals.Wanted >= allocation.Unbounded {
		return 0
	}
	cores := 0
	for _, profile := range v.Profiles {
		cores += profile.Wanted * profile.Cores
	}
	return cores
}

// attention lists problems that require a user's attention, the most important first.
func (v view) attention() []note {
	var notes []note
	if v.partial {
		notes = append(notes, note{Level: "Loading:", Cells: []cell{text("the event log is still being read. Single tasks are not here yet.")}})
	}
	if v.Application.Error != "" {
		notes = append(notes, note{Level: "Failed:", Class: bad, Cells: []cell{text(v.Application.Error)}})
	}
	for _, job := range v.Jobs {
		for _, set := range job.Sets {
			if set.WaitReason != "" && set.Ended.IsZero() {
				notes = append(notes, note{Level: "Waits:", Class: warn, Cells: []cell{jobLink(job), text(set.WaitReason)}})
			}
		}
	}
	for _, problem := range v.Notes {
		notes = append(notes, note{Level: "Note:", Class: warn, Cells: []cell{text(problem)}})
	}
	if running(v.Snapshot) && v.Totals.Registered == 0 {
		notes = append(notes, v.startNotes()...)
	}
	if worst := v.worstFailure(); worst != nil {
		notes = append(notes, note{Level: "Failures:", Class: bad, Cells: []cell{
			text(plural(v.Totals.FailedAttempts+v.Totals.LostAttempts, "attempt") + " failed, most of them with:"), linked(firstLine(worst.Message, 200), "#failures"),
		}})
	}
	if v.Totals.Lost > 0 {
		notes = append(notes, note{Level: "Executors:", Class: bad, Cells: []cell{
			linked(plural(v.Totals.Lost, "executor"), to(executorsPage)), text("lost. The last one: " + firstLine(v.lastLoss(), 300)),
		}})
	}
	if running(v.Snapshot) {
		notes = append(notes, v.stragglerNotes()...)
		if v.Totals.Registered > 0 {
			notes = append(notes, v.startNotes()...)
		}
	}
	if v.Totals.Omitted > 0 {
		notes = append(notes, note{Level: "Sampled:", Cells: []cell{text("There were too many tasks in a second to keep each. All counts include them, and all failures are kept.")}})
	}
	return notes
}

// startNotes explains why fewer executors have registered than the target number; nil if enough
// have.
func (v view) startNotes() []note {
	if v.Totals.Registered >= v.Totals.Wanted || v.Totals.Wanted >= allocation.Unbounded {
		return nil
	}
	states := map[string]int{}
	for _, e := range v.Executors {
		states[e.State]++
	}
	var why string
	switch {
	case states[events.ExecutorStateLaunched] > 0:
		why = plural(states[events.ExecutorStateLaunched], "executor") + " launched, and not registered with the driver yet. If that takes long, read the executors' logs: maybe nodes cannot reach the driver's address (driver.host)."
	case states[events.ExecutorStateAllocated] > 0:
		why = plural(states[events.ExecutorStateAllocated], "container") + " allocated, and not launched yet: the node loads the program's files."
	case strings.HasPrefix(v.Application.Master, "bobbin://"):
		why = "The master has launched none of them yet. If that takes long, all cores or memory of the workers are taken, or executors are larger than any worker: see the master's page, cores.max, executor.memory and executor.cores."
	default:
		why = "The cluster has given no container for them yet. If that takes long, the queue is full or executors are larger than any node allows: see the queue in the ResourceManager's pages, executor.memory and executor.cores."
	}
	asked, class := plural(v.Totals.Wanted, "executor")+" wanted", warn
	if v.Totals.Registered > 0 { // tasks can run, so the note is no warning
		asked, class = v.registeredText()+" wanted executors have registered.", ""
	}
	return []note{{Level: "Waits for executors:", Class: class, Cells: []cell{linked(asked, to(executorsPage)), text(why)}}}
}

func (v view) stragglerNotes() []note {
	type slow struct {
		attempt events.Attempt
		runs    time.Duration
	}
	slowest := map[uint64]slow{}
	for _, attempt := range v.RunningAttempts() {
		if runs := v.now.Sub(attempt.Start.Time()); runs > slowest[attempt.Set].runs {
			slowest[attempt.Set] = slow{attempt, runs}
		}
	}
	var notes []note
	for _, job := range v.Jobs {
		for _, set := range job.Sets {
			found, ok := slowest[set.Set]
			if !ok || !events.IsStraggling(found.runs, set.Counts.MeanTook()) {
				continue
			}
			notes = append(notes, note{Level: "Slow:", Class: warn, Cells: []cell{
				linked(fmt.Sprintf("Task %d of %s", found.attempt.Task, set.Name), taskURL(set.Set, found.attempt.Task)),
				text(fmt.Sprintf("runs for %s; the mean of the ended ones is %s.", duration(found.runs), duration(set.Counts.MeanTook()))),
			}})
		}
	}
	return notes[:min(len(notes), mostShown)]
}

func (v view) worstFailure() *events.FailureGroup {
	if len(v.Failures) == 0 {
		return nil
	}
	return slices.MaxFunc(v.Failures, func(a, b *events.FailureGroup) int { return a.Count - b.Count })
}

func (v view) lastLoss() string {
	var last *events.Executor
	for _, e := range v.Executors {
		if e.State == events.ExecutorStateLost && !e.Expected && (last == nil || e.Lost.After(last.Lost)) {
			last = e
		}
	}
	if last == nil {
		return ""
	}
	return "executor " + last.ID + " on " + last.Host + ": " + last.Reason
}

// failureSection shows groups of failures with the same message.
func (v view) failureSection(groups []*events.FailureGroup) section {
	groups = slices.Clone(groups)
	slices.SortStableFunc(groups, func(a, b *events.FailureGroup) int { return b.Count - a.Count })
	return section{ID: "failures", Title: "Failures", Table: tableOf(v.query, "failures", "Failures", "", groups,
		func(g *events.FailureGroup) string {
			return formatID(g.Samples[0].Set) + "-" + formatID(g.Samples[0].Task) + "-" + formatID(g.Samples[0].Number)
		},
		[]column[*events.FailureGroup]{
			{Name: "Attempts", Number: true, Compare: by(func(g *events.FailureGroup) int { return g.Count }), Cells: func(g *events.FailureGroup) []cell { return []cell{number(g.Count)} }},
			{Name: "Message", Wide: true, Cells: func(g *events.FailureGroup) []cell { return []cell{text(firstLine(g.Message, 400))} }},
			{Name: "First", Compare: by(func(g *events.FailureGroup) int64 { return g.First.UnixNano() }), Cells: func(g *events.FailureGroup) []cell { return []cell{instant(g.First)} }},
			{Name: "Last", Compare: by(func(g *events.FailureGroup) int64 { return g.Last.UnixNano() }), Cells: func(g *events.FailureGroup) []cell { return []cell{instant(g.Last)} }},
			{Name: "Hosts", Cells: func(g *events.FailureGroup) []cell { return []cell{text(v.hosts(g))} }},
			{Name: "Tasks", Hint: "Some of the tasks that failed so", Tight: true, Cells: func(g *events.FailureGroup) []cell {
				var cells []cell
				for _, failed := range g.Samples {
					c := linked(formatID(failed.Task), taskURL(failed.Set, failed.Task))
					if len(g.Sets) > 1 {
						c.Text += " (set " + formatID(failed.Set) + ")"
					}
					if len(cells) < 3 && !slices.Contains(cells, c) {
						cells = append(cells, c)
					}
				}
				return cells
			}},
		})}
}

// hosts names some of the hosts on which attempts of a group failed.
func (v view) hosts(g *events.FailureGroup) string {
	perHost := map[string]int{}
	for _, e := range v.Executors {
		if failed := g.Executors[e.ID]; failed > 0 {
			perHost[e.Host] += failed
		}
	}
	type entry struct {
		host  string
		count int
	}
	var entries []entry
	for host, n := range perHost {
		entries = append(entries, entry{host, n})
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.count != b.count {
			return b.count - a.count
		}
		return strings.Compare(a.host, b.host)
	})
	var names []string
	for _, e := range entries[:min(len(entries), 3)] {
		names = append(names, fmt.Sprintf("%s (%d)", e.host, e.count))
	}
	if more := len(entries) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

package ui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
)

func executors(v view) content {
	states := map[string]int{}
	for _, e := range v.Executors {
		states[e.State]++
	}
	facts := []fact{{Name: "Wanted", Hint: "By the driver, now", Cells: []cell{text(wanted(v.Totals.Wanted))}}}
	for _, state := range []string{
		events.ExecutorStateAllocated, events.ExecutorStateLaunched, events.ExecutorStateRegistered, events.ExecutorStateDecommissioning, events.ExecutorStateLost,
	} {
		facts = append(facts, fact{Name: strings.ToUpper(state[:1]) + state[1:], Hint: stateHints[state], Cells: []cell{number(states[state])}})
	}
	facts = append(facts, v.profileFact("Profile of executors", profiling.Request{})...)
	facts = append(facts, v.profileFact("Profile of the driver", profiling.Request{Driver: true})...)
	c := content{Title: "Executors", Sections: []section{{ID: "summary", Facts: facts}}}
	if running(v.Snapshot) {
		c.Sections[0].Notes = v.startNotes()
	}
	if len(v.Profiles) > 0 {
		c.Sections = append(c.Sections, v.profilesSection())
	}
	present, lost := split(v.Executors, func(e *events.Executor) bool { return e.State != events.ExecutorStateLost })
	c.Sections = append(c.Sections, section{ID: "present", Title: "Present", Table: v.executorTable("present", "Executors", "No executor is there.", present)})
	if len(lost) > 0 {
		slices.SortStableFunc(lost, func(a, b *events.Executor) int { return b.Lost.Compare(a.Lost) })
		c.Sections = append(c.Sections,
			section{ID: "reasons", Title: "Why executors were lost", Table: v.reasonTable(lost)},
			section{ID: "lost", Title: "Lost", Table: v.executorTable("lost", "Lost executors", "", lost)})
	}
	if len(v.Exclusions) > 0 {
		c.Sections = append(c.Sections, v.exclusionsSection())
	}
	return c
}

var stateHints = map[string]string{
	events.ExecutorStateAllocated:       "Containers that the cluster gave and whose process does not run yet",
	events.ExecutorStateLaunched:        "Processes that have not registered with the driver yet",
	events.ExecutorStateRegistered:      "Executors that get tasks",
	events.ExecutorStateDecommissioning: "Executors that finish what they run and get no further tasks",
	events.ExecutorStateLost:            "Executors that are gone, for whatever reason",
}

func (v view) profilesSection() section {
	return section{ID: "profiles", Title: "Resource profiles", Table: tableOf(v.query, "profiles", "Resource profiles", "", v.Profiles,
		func(p *events.Profile) string { return formatID(p.Profile) },
		[]column[*events.Profile]{
			{Name: "Profile", Number: true, Cells: func(p *events.Profile) []cell { return []cell{text(formatID(p.Profile))} }},
			{Name: "Executors wanted", Number: true, Cells: func(p *events.Profile) []cell { return []cell{text(wanted(p.Wanted))} }},
			{Name: "Cores", Hint: "Of each executor", Number: true, Cells: func(p *events.Profile) []cell { return []cell{number(p.Cores)} }},
			{Name: "Memory", Hint: "Of each executor", Number: true, Cells: func(p *events.Profile) []cell { return []cell{text(size(p.MemoryBytes))} }},
			{Name: "Overhead", Hint: "Memory of each executor beside Go's heap", Number: true, Cells: func(p *events.Profile) []cell { return []cell{nonzero(p.OverheadBytes, size)} }},
			{Name: "Resources", Cells: func(p *events.Profile) []cell {
				var parts []string
				for _, name := range slices.Sorted(maps.Keys(p.Resources)) {
					parts = append(parts, fmt.Sprintf("%s %d", name, p.Resources[name]))
				}
				return []cell{text(strings.Join(parts, ", "))}
			}},
		})}
}

// resident returns the latest reported memory of an executor's process in bytes; 0 if it is
// unknown.
func resident(e *events.Executor) int64 {
	if len(e.Memory) == 0 {
		return 0
	}
	return e.Memory[len(e.Memory)-1].Resident
}

// peak returns the largest reported memory of an executor's process in bytes; 0 if it is
// unknown.
func peak(e *events.Executor) int64 {
	var most int64
	for _, sample := range e.Memory {
		most = max(most, sample.Resident)
	}
	return most
}

// memoryLimit returns the size of an executor's container in bytes; 0 if it is unknown.
func (v view) memoryLimit(e *events.Executor) int64 {
	for _, p := range v.Profiles {
		if p.Profile == e.Profile {
			return p.MemoryBytes + p.OverheadBytes
		}
	}
	return 0
}

func (v view) memoryCell(e *events.Executor) cell {
	bytes := resident(e)
	if bytes == 0 {
		return cell{}
	}
	limit := v.memoryLimit(e)
	c := share(float64(bytes), float64(limit), size(bytes))
	if limit > 0 {
		c.Hint = "of " + size(limit)
		if bytes > limit/10*9 {
			c.Class = bad
		}
	}
	return c
}

// after returns a cell with the difference of two times, such as "+1.2 s", and with the later
// time as tooltip. The cell is empty if one of the times is zero.
func after(earlier, later time.Time) cell {
	if earlier.IsZero() || later.IsZero() {
		return cell{}
	}
	return cell{Text: "+" + duration(later.Sub(earlier).Round(time.Millisecond)), Hint: moment(later)}
}

func (v view) executorTable(name, label, empty string, all []*events.Executor) *table {
	tasks := func(e *events.Executor) events.Counts { return e.Counts }
	return tableOf(v.query, name, label, empty, all, func(e *events.Executor) string { return e.ID }, []column[*events.Executor]{
		{Name: "Id", Compare: byID, Cells: func(e *events.Executor) []cell { return []cell{executorLink(e)} }},
		{Name: "Host", Compare: byText(func(e *events.Executor) string { return e.Host }), Cells: func(e *events.Executor) []cell { return []cell{text(e.Host)} }},
		{Name: "State", Wide: name == "lost", Compare: byText(func(e *events.Executor) string { return e.State }), Cells: func(e *events.Executor) []cell {
			c := stateCell(e.State)
			if e.State == events.ExecutorStateLost && !e.Expected {
				c.Class = bad
			}
			return []cell{c, classed(firstLine(e.Reason, 200), dim)}
		}},
		{Name: "Cores", Number: true, Compare: by(func(e *events.Executor) int { return e.Cores }), Cells: func(e *events.Executor) []cell { return []cell{nonzero(e.Cores, count)} }},
		{Name: "Running", Hint: "Tasks", Number: true, Compare: by(func(e *events.Executor) int { return tasks(e).Running }), Cells: func(e *events.Executor) []cell { return []cell{nonzero(tasks(e).Running, count)} }},
		{Name: "Done", Hint: "Tasks", Number: true, Compare: by(func(e *events.Executor) int { return tasks(e).Done }), Cells: func(e *events.Executor) []cell { return []cell{nonzero(tasks(e).Done, count)} }},
		{Name: "Failed", Hint: "Attempts", Number: true, Compare: by(func(e *events.Executor) int { return tasks(e).FailedAttempts }), Cells: func(e *events.Executor) []cell { return []cell{failures(tasks(e).FailedAttempts)} }},
		{Name: "Memory", Hint: "Of the process, against the limit of its container", Compare: by(resident), Cells: func(e *events.Executor) []cell { return []cell{v.memoryCell(e)} }},
		{Name: "Allocated", Hint: "When the cluster gave the container", Cells: func(e *events.Executor) []cell { return []cell{instant(e.Allocated)} }},
		{Name: "Launched", Hint: "After the allocation", Cells: func(e *events.Executor) []cell { return []cell{after(e.Allocated, e.Launched)} }},
		{Name: "Registered", Hint: "After the launch", Cells: func(e *events.Executor) []cell {
			if e.Launched.IsZero() {
				return []cell{instant(e.Registered)}
			}
			return []cell{after(e.Launched, e.Registered)}
		}},
		{Name: "Lost", Cells: func(e *events.Executor) []cell { return []cell{instant(e.Lost)} }},
		{Name: "Logs", Tight: true, Cells: logLinks},
	})
}

// byID compares executors by their ids, as numbers: 2 precedes 10.
func byID(a, b *events.Executor) int {
	return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), strings.Compare(a.ID, b.ID))
}

// lossGroup counts the executors that were lost for one reason.
type lossGroup struct {
	reason   string
	count    int
	expected bool // the executors had been told to stop
	last     *events.Executor
}

// reasonTable groups lost executors by reason. lost must be sorted with the latest loss first.
func (v view) reasonTable(lost []*events.Executor) *table {
	groups := map[string]*lossGroup{}
	for _, e := range lost {
		reason := firstLine(cmp.Or(e.Reason, "unknown"), 300)
		g := groups[reason]
		if g == nil {
			g = &lossGroup{reason: reason, expected: e.Expected, last: e}
			groups[reason] = g
		}
		g.count++
	}
	all := slices.SortedFunc(maps.Values(groups), func(a, b *lossGroup) int {
		return cmp.Or(cmp.Compare(b.count, a.count), b.last.Lost.Compare(a.last.Lost), strings.Compare(a.reason, b.reason))
	})
	return tableOf(v.query, "reasons", "Reasons", "", all, func(g *lossGroup) string { return g.last.ID }, []column[*lossGroup]{
		{Name: "Executors", Number: true, Cells: func(g *lossGroup) []cell { return []cell{number(g.count)} }},
		{Name: "Reason", Wide: true, Cells: func(g *lossGroup) []cell {
			if g.expected {
				return []cell{text(g.reason)}
			}
			return []cell{classed(g.reason, bad)}
		}},
		{Name: "Last", Cells: func(g *lossGroup) []cell { return []cell{instant(g.last.Lost)} }},
		{Name: "Executor", Cells: func(g *lossGroup) []cell { return []cell{executorLink(g.last)} }},
	})
}

func (v view) exclusionsSection() section {
	return section{ID: "exclusions", Title: "Excluded after failures", Table: tableOf(v.query, "exclusions", "Exclusions", "", v.Exclusions,
		func(x events.Excluded) string { return fmt.Sprintf("%s-%s-%d", x.Host, x.Executor, x.Set) },
		[]column[events.Excluded]{
			{Name: "Host", Cells: func(x events.Excluded) []cell { return []cell{text(x.Host)} }},
			{Name: "Executor", Cells: func(x events.Excluded) []cell {
				if x.Executor == "" {
					return []cell{text("all of the host")}
				}
				return []cell{linked(x.Executor, to(executorPage, "id", x.Executor))}
			}},
			{Name: "For", Cells: func(x events.Excluded) []cell {
				if x.Set == 0 {
					return []cell{text("all task sets")}
				}
				return []cell{linked("task set "+formatID(x.Set), to(stagePage, "id", formatID(x.Set)))}
			}},
			{Name: "Failures", Number: true, Cells: func(x events.Excluded) []cell { return []cell{nonzero(x.Failures, count)} }},
			{Name: "Until", Cells: func(x events.Excluded) []cell { return []cell{instant(x.Until)} }},
		})}
}

// executor shows one executor: its history, memory, tasks and failures.
func executor(v view) (content, bool) {
	i := slices.IndexFunc(v.Executors, func(e *events.Executor) bool { return e.ID == v.query.get("id") })
	if i < 0 {
		return content{}, false
	}
	e := v.Executors[i]
	c := content{Title: "Executor " + visible(e.ID), Path: []link{{Text: "Executors", Link: to(executorsPage)}}}
	summary := section{ID: "summary", Facts: noZero([]fact{
		{Name: "State", Cells: []cell{stateCell(e.State)}},
		factOf("Host", e.Host), factOf("Container", e.Container), factOf("Resource profile", formatID(e.Profile)),
		{Name: "Cores", Cells: []cell{nonzero(e.Cores, count)}},
		{Name: "Allocated", Cells: []cell{instant(e.Allocated)}},
		{Name: "Launched", Hint: "After the allocation", Cells: []cell{after(e.Allocated, e.Launched)}},
		{Name: "Registered", Cells: []cell{instant(e.Registered), after(e.Launched, e.Registered)}},
		{Name: "Decommissioned", Cells: []cell{instant(e.Decommissioned)}},
		{Name: "Lost", Cells: []cell{instant(e.Lost)}},
		{Name: "Running tasks", Cells: []cell{nonzero(e.Counts.Running, count)}},
		{Name: "Tasks done", Cells: []cell{nonzero(e.Counts.Done, count)}},
		{Name: "Failed attempts", Cells: []cell{failures(e.Counts.FailedAttempts)}},
		{Name: "Time in tasks", Cells: []cell{nonzero(int64(e.Counts.Sums.Took), micros)}},
		{Name: "Memory now", Cells: []cell{v.memoryCell(e)}},
		{Name: "Memory at most", Cells: []cell{nonzero(peak(e), size)}},
		{Name: "Memory limit", Cells: []cell{nonzero(v.memoryLimit(e), size)}},
		{Name: "Logs", Cells: logLinks(e)},
	})}
	summary.Facts = append(summary.Facts, v.executorProfiles(e)...)
	if e.Reason != "" {
		n := note{Level: "Why:", Cells: []cell{text(e.Reason)}}
		if e.State == events.ExecutorStateLost && !e.Expected {
			n.Class = bad
		}
		summary.Notes = []note{n}
	}
	c.Sections = append(c.Sections, summary)
	if len(e.Memory) > 1 {
		c.Sections = append(c.Sections, section{ID: "memory", Title: "Memory", Chart: memoryChart(e, v.memoryLimit(e))})
	}
	own := map[uint32]bool{}
	for _, number := range e.Numbers {
		own[number] = true
	}
	var attempts []*events.Attempt
	for _, a := range v.RunningAttempts() {
		if own[a.Executor] {
			attempts = append(attempts, &a)
		}
	}
	var ended []*events.Attempt
	for a := range v.Attempts() {
		if own[a.Executor] {
			ended = append(ended, a)
		}
	}
	slices.Reverse(ended)
	c.Sections = append(c.Sections, section{ID: "attempts", Title: "Attempts", Table: v.attemptTable("attempts", "Attempts", append(attempts, ended...))})
	var groups []*events.FailureGroup
	for _, group := range v.Failures {
		if group.Executors[e.ID] > 0 {
			groups = append(groups, group)
		}
	}
	if len(groups) > 0 {
		c.Sections = append(c.Sections, v.failureSection(groups))
	}
	return c, true
}

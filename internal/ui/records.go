package ui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// sum returns the sum of the values of a map.
func sum[N int | int64](perExecutor map[string]N) (total N) {
	for _, n := range perExecutor {
		total += n
	}
	return total
}

// storage shows the cached data sets, as a whole and by executor.
func storage(v view) content {
	stored := func(d *events.CachedDataset) int { return sum(d.Stored) }
	memory := func(d *events.CachedDataset) int64 { return sum(d.Memory) }
	disk := func(d *events.CachedDataset) int64 { return sum(d.Disk) }
	cached := slices.DeleteFunc(slices.Clone(v.Cached), func(d *events.CachedDataset) bool { return d.Removed })
	c := content{Title: "Storage", Sections: []section{{ID: "cached", Title: "Cached data sets", Table: tableOf(v.query, "cached", "Cached data sets", "No data set is cached.", cached,
		func(d *events.CachedDataset) string { return d.ID },
		[]column[*events.CachedDataset]{
			{Name: "Id", Compare: byText(func(d *events.CachedDataset) string { return d.ID }), Cells: func(d *events.CachedDataset) []cell { return []cell{text(d.ID)} }},
			{Name: "Name", Wide: true, Compare: byText(func(d *events.CachedDataset) string { return d.Name }), Cells: func(d *events.CachedDataset) []cell { return []cell{text(d.Name)} }},
			{Name: "Level", Cells: func(d *events.CachedDataset) []cell { return []cell{text(d.Level)} }},
			{Name: "Partitions stored", Hint: "More than all: some are stored by several executors", Cells: func(d *events.CachedDataset) []cell {
				return []cell{share(float64(stored(d)), float64(d.Partitions), count(stored(d))+" / "+count(d.Partitions))}
			}},
			{Name: "Executors", Number: true, Hint: "That store partitions", Cells: func(d *events.CachedDataset) []cell { return []cell{number(len(d.Stored))} }},
			{Name: "In memory", Number: true, Compare: by(memory), Cells: func(d *events.CachedDataset) []cell { return []cell{nonzero(memory(d), size)} }},
			{Name: "On disk", Number: true, Compare: by(disk), Cells: func(d *events.CachedDataset) []cell { return []cell{nonzero(disk(d), size)} }},
			{Name: "Changed", Cells: func(d *events.CachedDataset) []cell { return []cell{instant(d.Time.Time)} }},
		})}}}
	type part struct {
		*events.CachedDataset
		executor string
	}
	var parts []part
	for _, d := range cached {
		for _, executor := range slices.Sorted(maps.Keys(d.Stored)) {
			parts = append(parts, part{d, executor})
		}
	}
	if len(parts) == 0 {
		return c
	}
	partMemory, partDisk := func(p part) int64 { return p.Memory[p.executor] }, func(p part) int64 { return p.Disk[p.executor] }
	c.Sections = append(c.Sections, section{ID: "parts", Title: "By executor", Table: tableOf(v.query, "parts", "Cached data sets by executor", "", parts,
		func(p part) string { return p.ID + " " + p.executor },
		[]column[part]{
			{Name: "Id", Compare: byText(func(p part) string { return p.ID }), Cells: func(p part) []cell { return []cell{text(p.ID)} }},
			{Name: "Executor", Compare: byText(func(p part) string { return p.executor }), Cells: func(p part) []cell { return []cell{linked(p.executor, to(executorPage, "id", p.executor))} }},
			{Name: "Partitions", Number: true, Cells: func(p part) []cell { return []cell{number(p.Stored[p.executor])} }},
			{Name: "In memory", Number: true, Compare: by(partMemory), Cells: func(p part) []cell { return []cell{nonzero(partMemory(p), size)} }},
			{Name: "On disk", Number: true, Compare: by(partDisk), Cells: func(p part) []cell { return []cell{nonzero(partDisk(p), size)} }},
		})})
	return c
}

// settings shows the settings that differ from their defaults, and properties of the
// application such as its user, its master and the versions of bobbin and Go.
func settings(v view) content {
	a := v.Application
	return content{Title: "Settings", Sections: []section{
		{ID: "application", Facts: noZero([]fact{
			factOf("Application", a.ID), factOf("User", a.User), factOf("Master", a.Master), factOf("Mode", a.Mode), factOf("Driver's host", a.Host),
			factOf("bobbin", a.Version), factOf("Go", a.Go),
		})},
		{ID: "settings", Title: "Settings that are not at their defaults", Table: tableOf(v.query, "settings", "Settings", "All settings have their defaults.", a.Settings,
			func(s events.Setting) string { return s.Key },
			[]column[events.Setting]{
				{Name: "Key", Compare: byText(func(s events.Setting) string { return s.Key }), Cells: func(s events.Setting) []cell { return []cell{text(s.Key)} }},
				{Name: "Value", Wide: true, Cells: func(s events.Setting) []cell { return []cell{text(s.Value)} }},
				{Name: "From", Compare: byText(func(s events.Setting) string { return s.Source }), Cells: func(s events.Setting) []cell { return []cell{text(s.Source)} }},
			})},
	}}
}

// eventLog shows the latest events, the newest first.
func eventLog(v view) content {
	type entry struct {
		index int
		event events.Event
	}
	var all []entry
	for i, event := range v.Recent {
		all = append(all, entry{i, event})
	}
	slices.Reverse(all)
	return content{Title: "Events", Sections: []section{{ID: "events", Table: tableOf(v.query, "events", "Events", "Nothing has happened.", all,
		func(e entry) string {
			return fmt.Sprintf("%d-%s-%d", e.event.When().UnixNano(), e.event.Type(), e.index)
		},
		[]column[entry]{
			{Name: "Time", Cells: func(e entry) []cell { return []cell{instant(e.event.When())} }},
			{Name: "Event", Compare: byText(func(e entry) string { return e.event.Type() }), Cells: func(e entry) []cell { return []cell{text(words(e.event.Type()))} }},
			{Name: "What", Wide: true, Cells: func(e entry) []cell { return describe(e.event) }},
		})}}}
}

// words converts a name such as jobSubmitted to "Job submitted".
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case i == 0:
			b.WriteString(strings.ToUpper(string(r)))
		case r >= 'A' && r <= 'Z':
			b.WriteString(" " + strings.ToLower(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// describe returns a description of an event, with links to the jobs, executors and so on that
// the event names.
func describe(event events.Event) []cell {
	onExecutor := func(id, rest string) []cell {
		return []cell{linked("Executor "+id, to(executorPage, "id", id)), text(rest)}
	}
	onSet := func(set uint64, rest string) []cell {
		return []cell{linked("Task set "+formatID(set), to(stagePage, "id", formatID(set))), text(rest)}
	}
	onJob := func(job uint64, rest string) []cell {
		return []cell{linked("Job "+formatID(job), to(jobPage, "id", formatID(job))), text(rest)}
	}
	ending := func(state, err string) string { return strings.TrimSuffix(state+": "+firstLine(err, 300), ": ") }
	switch e := event.(type) {
	case *events.ApplicationStarted:
		return []cell{text(strings.TrimSpace(e.ID + " " + e.Name))}
	case *events.ApplicationEnded:
		return []cell{text(ending(e.State, e.Error))}
	case *events.ProfileAdded:
		return []cell{text(fmt.Sprintf("Resource profile %d: %s, %s", e.Profile, plural(e.Cores, "core"), size(e.MemoryBytes)))}
	case *events.ExecutorsRequested:
		return []cell{text(fmt.Sprintf("Executors of profile %d wanted: %s", e.Profile, wanted(e.Wanted)))}
	case *events.ExecutorAllocated:
		return onExecutor(e.ID, strings.TrimSpace("on "+e.Host+" "+e.Container))
	case *events.ExecutorLaunched:
		return onExecutor(e.ID, "")
	case *events.ExecutorRegistered:
		return onExecutor(e.ID, "on "+e.Host+" with "+plural(e.Cores, "core"))
	case *events.ExecutorDecommissioned:
		return onExecutor(e.ID, e.Reason)
	case *events.ExecutorLost:
		return onExecutor(e.ID, firstLine(e.Reason, 300))
	case *events.ExecutorHeapProfiled:
		return onExecutor(e.ID, "has "+size(e.Resident)+" of memory, near its limit: a heap profile is among its logs")
	case *events.Excluded:
		return []cell{text(cmp.Or(prefixed("executor ", e.Executor), "host "+e.Host) + " after " + plural(e.Failures, "failure"))}
	case *events.ExclusionEnded:
		return []cell{text(cmp.Or(prefixed("executor ", e.Executor), "host "+e.Host))}
	case *events.JobSubmitted:
		return onJob(e.Job, e.Name)
	case *events.JobEnded:
		return onJob(e.Job, ending(e.State, e.Error))
	case *events.TaskSetSubmitted:
		return onSet(e.Set, e.Name+" with "+plural(e.Tasks, "task"))
	case *events.TaskSetEnded:
		return onSet(e.Set, ending(e.State, e.Error))
	case *events.TaskSetWaits:
		return onSet(e.Set, cmp.Or(e.Reason, "no longer waits"))
	case *events.AttemptFailed:
		return []cell{linked(fmt.Sprintf("Task %d of task set %d", e.Task, e.Set), taskURL(e.Set, e.Task)), text(firstLine(e.Message, 300))}
	case *events.CacheChanged:
		return []cell{text(e.Name), text(e.Level)}
	case *events.StepsPlanned:
		return []cell{text(plural(len(e.Steps), "step"))}
	case *events.StepStarted:
		return []cell{text(e.Step)}
	case *events.StepEnded:
		return []cell{text(e.Step + " " + ending(e.State, e.Error))}
	case *events.NotesChanged:
		return []cell{text(strings.Join(e.Notes, "\n"))}
	default:
		content, _ := json.Marshal(event) // cannot fail, because all fields of events can be encoded
		return []cell{text(string(content))}
	}
}

// prefixed returns prefix followed by s, or "" if s is "".
func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

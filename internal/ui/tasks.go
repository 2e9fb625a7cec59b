package ui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

func taskURL[N ~int | ~uint32](set uint64, index N) string {
	return to(taskPage, "set", formatID(set), "index", formatID(index))
}

// outcomes contains the text for each outcome of an attempt.
var outcomes = map[events.Outcome]cell{
	events.OutcomeRunning:      {Text: "running"},
	events.OutcomeSucceeded:    {Text: "succeeded", Class: good},
	events.OutcomeFailed:       {Text: "failed", Class: bad},
	events.OutcomeExecutorLost: {Text: "executor lost", Class: bad},
	events.OutcomeKilled:       {Text: "killed", Class: warn},
}

// took returns the duration of an attempt, or if the attempt still runs, its duration so far.
func (v view) took(a *events.Attempt) time.Duration {
	if a.End == 0 {
		return max(0, v.end(time.Time{}).Sub(a.Start.Time()))
	}
	return a.Took()
}

// attemptTable lists attempts, with links to their tasks, executors and logs.
func (v view) attemptTable(name, label string, attempts []*events.Attempt) *table {
	return v.measuredTable(name, label, attempts, nil)
}

// measurements returns the measurements of the tasks of a task set, by the index of the task.
func (v view) measurements(set uint64) map[uint32]*events.Measurement {
	tasks := map[uint32]*events.Measurement{}
	for m := range v.Measurements() {
		if m.Set == set {
			tasks[m.Task] = m
		}
	}
	return tasks
}

// measuredTable lists attempts as attemptTable does, with additional columns for the
// measurements of their tasks. The map measured contains the measurements by the index of the
// task, so all attempts must be of one task set. If measured is nil, the columns are omitted.
func (v view) measuredTable(name, label string, attempts []*events.Attempt, measured map[uint32]*events.Measurement) *table {
	processed := func(get func(*events.Measurement) int64) func(*events.Attempt) int64 {
		return func(a *events.Attempt) int64 {
			if m := measured[a.Task]; m != nil {
				return get(m)
			}
			return 0
		}
	}
	recordsIn := processed(func(m *events.Measurement) int64 { return m.RecordsIn })
	shuffleRead := processed(func(m *events.Measurement) int64 { return m.ShuffleLocal + m.ShuffleRemote })
	spilled := processed(func(m *events.Measurement) int64 { return m.Spilled })
	host := func(a *events.Attempt) string {
		if e := v.Executor(a.Executor); e != nil {
			return e.Host
		}
		return ""
	}
	phase := func(m func(*events.Attempt) events.Micros) func(*events.Attempt) []cell {
		return func(a *events.Attempt) []cell { return []cell{nonzero(int64(m(a)), micros)} }
	}
	return tableOf(v.query, name, label, "No attempt.", attempts,
		func(a *events.Attempt) string { return fmt.Sprintf("%d-%d-%d", a.Set, a.Task, a.Number) },
		[]column[*events.Attempt]{
			{Name: "Task", Number: true, Compare: by(func(a *events.Attempt) uint32 { return a.Task }), Cells: func(a *events.Attempt) []cell {
				return []cell{linked(formatID(a.Task), taskURL(a.Set, a.Task))}
			}},
			{Name: "Of", Wide: true, Cells: func(a *events.Attempt) []cell {
				if _, set := v.Set(a.Set); set != nil && v.query.get("page") == executorPage {
					return []cell{setLink(set)}
				}
				return nil
			}},
			{Name: "Attempt", Number: true, Compare: by(func(a *events.Attempt) uint32 { return a.Number }), Cells: func(a *events.Attempt) []cell {
				s := formatID(a.Number)
				if a.Speculative {
					s += " (speculative)"
				}
				return []cell{text(s)}
			}},
			{Name: "Outcome", Compare: by(func(a *events.Attempt) events.Outcome { return a.Outcome }), Cells: func(a *events.Attempt) []cell { return []cell{outcomes[a.Outcome]} }},
			{Name: "Executor", Cells: func(a *events.Attempt) []cell {
				if e := v.Executor(a.Executor); e != nil {
					return []cell{executorLink(e)}
				}
				return []cell{text("unknown")}
			}},
			{Name: "Host", Compare: byText(host), Cells: func(a *events.Attempt) []cell { return []cell{text(host(a))} }},
			{Name: "Locality", Compare: by(func(a *events.Attempt) uint8 { return a.Locality }), Cells: func(a *events.Attempt) []cell {
				if int(a.Locality) >= len(localityNames) {
					return nil
				}
				return []cell{text(localityNames[a.Locality])}
			}},
			{Name: "Launched", Compare: by(func(a *events.Attempt) events.Micros { return a.Start }), Cells: func(a *events.Attempt) []cell { return []cell{instant(a.Start.Time())} }},
			{Name: "Took", Number: true, Compare: by(v.took), Cells: func(a *events.Attempt) []cell { return []cell{text(duration(v.took(a)))} }},
			{Name: "Queued", Number: true, Compare: by(func(a *events.Attempt) events.Micros { return a.Queue }), Cells: phase(func(a *events.Attempt) events.Micros { return a.Queue })},
			{Name: "Run", Number: true, Compare: by(func(a *events.Attempt) events.Micros { return a.Run }), Cells: phase(func(a *events.Attempt) events.Micros { return a.Run })},
			{Name: "Read", Number: true, Compare: by(func(a *events.Attempt) int64 { return a.BytesRead }), Cells: func(a *events.Attempt) []cell { return []cell{nonzero(a.BytesRead, size)} }},
			{Name: "Written", Number: true, Compare: by(func(a *events.Attempt) int64 { return a.BytesWritten }), Cells: func(a *events.Attempt) []cell { return []cell{nonzero(a.BytesWritten, size)} }},
			{Name: "Records in", Number: true, Compare: by(recordsIn), Cells: func(a *events.Attempt) []cell { return []cell{nonzero(recordsIn(a), count)} }},
			{Name: "Shuffle read", Number: true, Compare: by(shuffleRead), Cells: func(a *events.Attempt) []cell { return []cell{nonzero(shuffleRead(a), size)} }},
			{Name: "Spilled", Hint: "Written to disk because memory was full", Number: true, Compare: by(spilled), Cells: func(a *events.Attempt) []cell { return []cell{nonzero(spilled(a), size)} }},
			{Name: "Result", Number: true, Compare: by(func(a *events.Attempt) int64 { return a.ResultBytes }), Cells: func(a *events.Attempt) []cell { return []cell{nonzero(a.ResultBytes, size)} }},
			{Name: "Logs", Tight: true, Cells: func(a *events.Attempt) []cell { return logLinks(v.Executor(a.Executor)) }},
		})
}

func logLinks(e *events.Executor) []cell {
	if e == nil {
		return nil
	}
	var cells []cell
	for _, name := range slices.Sorted(maps.Keys(e.LogURLs)) {
		cells = append(cells, externalLink(name, e.LogURLs[name]))
	}
	if stderr := e.LogURLs["stderr"]; stderr != "" && !e.HeapProfiled.IsZero() {
		cells = append(cells, externalLink("heap profile", strings.TrimSuffix(stderr, "stderr")+launch.HeapProfile))
	}
	return cells
}

// tasks lists all attempts of a task set, running attempts first.
func tasks(v view) (content, bool) {
	id, ok := v.query.id("id")
	j, set := v.Set(id)
	if !ok || set == nil {
		return content{}, false
	}
	var all []*events.Attempt
	for _, a := range v.RunningAttempts() {
		if a.Set == id {
			all = append(all, &a)
		}
	}
	for a := range v.Attempts() {
		if a.Set == id {
			all = append(all, a)
		}
	}
	return content{Title: "Attempts of " + lowered(setTitle(set)), Path: pathTo(j, set), Sections: []section{
		{ID: "attempts", Table: v.attemptTable("attempts", "Attempts", all)},
	}}, true
}

// lowered returns s with its first letter in lower case. s must begin with an ASCII character.
func lowered(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// task shows the attempts of one task.
func task(v view) (content, bool) {
	id, ok := v.query.id("set")
	index, ok2 := v.query.id("index")
	j, set := v.Set(id)
	if !ok || !ok2 || set == nil || index >= uint64(set.Tasks) && !v.knows(id, index) {
		return content{}, false
	}
	is := func(a *events.Attempt) bool { return a.Set == id && uint64(a.Task) == index }
	var attempts []*events.Attempt
	for a := range v.Attempts() {
		if is(a) {
			attempts = append(attempts, a)
		}
	}
	for _, a := range v.RunningAttempts() {
		if is(&a) {
			attempts = append(attempts, &a)
		}
	}
	slices.SortFunc(attempts, func(a, b *events.Attempt) int { return cmp.Compare(a.Number, b.Number) })
	c := content{Title: fmt.Sprintf("Task %d of %s", index, lowered(setTitle(set))), Path: pathTo(j, set)}
	list := section{ID: "attempts", Title: "Attempts", Table: v.attemptTable("attempts", "Attempts", attempts)}
	if set.Counts.Omitted > 0 {
		list.Notes = append(list.Notes, note{Level: "Sampled:", Cells: []cell{text("Not all attempts of this task set were kept.")}})
	}
	c.Sections = append(c.Sections, list)
	for _, group := range v.Failures {
		for _, failed := range group.Samples {
			if failed.Set != id || uint64(failed.Task) != index {
				continue
			}
			s := section{ID: "failure-" + formatID(failed.Number), Title: fmt.Sprintf("Why attempt %d failed", failed.Number), Text: visible(failed.Message)}
			if failed.Stack != "" {
				s.Text += "\n\n" + visible(failed.Stack)
			}
			if failed.Log != "" {
				s.Text += "\n\nThe end of the executor's log at this time:\n\n" + visible(failed.Log)
			}
			if e := v.Executor(failed.Executor); e != nil {
				s.Facts = []fact{{Name: "Executor", Cells: []cell{executorLink(e), text("on " + e.Host)}}}
				if logs := logLinks(e); len(logs) > 0 {
					s.Facts = append(s.Facts, fact{Name: "Logs of the executor", Cells: logs})
				}
			}
			c.Sections = append(c.Sections, s)
		}
	}
	return c, true
}

// knows reports whether the snapshot contains an attempt of the task with the given index in a
// task set. The index may be larger than the set's number of tasks: a task set that repeats only
// some tasks of a stage uses the indexes of these tasks in the stage.
func (v view) knows(set, index uint64) bool {
	for a := range v.Attempts() {
		if a.Set == set && uint64(a.Task) == index {
			return true
		}
	}
	return slices.ContainsFunc(v.RunningAttempts(), func(a events.Attempt) bool { return a.Set == set && uint64(a.Task) == index })
}

package ui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// stage shows a task set: the tasks of a stage attempt, or all tasks of a call of Func.Run.
func stage(v view) (content, bool) {
	id, ok := v.query.id("id")
	j, set := v.Set(id)
	if !ok || set == nil {
		return content{}, false
	}
	c := content{Title: setTitle(set), Path: pathTo(j, nil)}
	summary := section{ID: "summary", Progress: progressOf(set.Counts), Notes: waits(set), Facts: noZero(append([]fact{
		{Name: "State", Cells: []cell{stateCell(set.State)}},
		{Name: "Submitted", Cells: []cell{instant(set.Time.Time)}},
		factOf("Took", duration(v.lasted(set.Time.Time, set.Ended))),
		attemptsFact(set),
	}, countFacts(set.Counts)...))}
	if set.Error != "" {
		summary.Notes = append(summary.Notes, note{Level: "Ended:", Class: bad, Cells: []cell{text(set.Error)}})
	}
	c.Sections = append([]section{summary}, v.setSections(set)...)
	return c, true
}

func attemptsFact(set *events.TaskSet) fact {
	return fact{Name: "Attempts", Cells: []cell{linked("All attempts", to(tasksPage, "id", formatID(set.Set)))}}
}

// pathTo returns the links above a page's title: to the list of jobs and to the job j. If set
// is not nil, the page shows a part of this task set; pathTo then also links to the page of
// set, unless the job's page shows set itself.
func pathTo(j *events.Job, set *events.TaskSet) []link {
	links := []link{{Text: "Jobs", Link: to(jobsPage)}, {Text: "Job " + formatID(j.Job), Link: to(jobPage, "id", formatID(j.Job))}}
	if set != nil && (len(j.Stages) > 0 || len(j.Sets) > 1) {
		links = append(links, link{Text: "Task set " + formatID(set.Set), Link: to(stagePage, "id", formatID(set.Set))})
	}
	return links
}

func waits(set *events.TaskSet) []note {
	if set.WaitReason == "" || !set.Ended.IsZero() {
		return nil
	}
	return []note{{Level: "Waits:", Class: warn, Cells: []cell{text(set.WaitReason)}}}
}

// setSections returns the sections about a task set's tasks: their durations, their failures,
// the slowest tasks, and the executors.
func (v view) setSections(set *events.TaskSet) []section {
	var ended, succeeded []*events.Attempt
	for a := range v.Attempts() {
		if a.Set == set.Set {
			ended = append(ended, a)
			if a.Outcome == events.OutcomeSucceeded {
				succeeded = append(succeeded, a)
			}
		}
	}
	sections := []section{v.distribution(set, succeeded)}
	if groups := v.failuresOf(set); len(groups) > 0 {
		sections = append(sections, v.failureSection(groups))
	}
	if s := v.longestRunning(set); s.Table != nil {
		sections = append(sections, s)
	}
	if len(succeeded) > 0 {
		slowest := slices.Clone(succeeded)
		slices.SortFunc(slowest, func(a, b *events.Attempt) int { return cmp.Compare(b.Took(), a.Took()) })
		sections = append(sections,
			section{ID: "slowest", Title: "Slowest tasks", Table: v.measuredTable("slowest", "Slowest tasks", slowest[:min(len(slowest), mostShown)], v.measurements(set.Set))},
			v.executorShares(ended))
	}
	return append(sections, valueSections(set)...)
}

// distribution shows the durations of tasks, and the amounts of data that they processed.
func (v view) distribution(set *events.TaskSet, succeeded []*events.Attempt) section {
	s := section{ID: "times", Title: "Task times"}
	if len(succeeded) == 0 {
		s.Table = &table{Empty: "No task is done."}
		return s
	}
	took := make([]time.Duration, len(succeeded))
	for i, a := range succeeded {
		took[i] = a.Took()
	}
	s.Chart = histogram("Tasks by the time they took", took)
	slices.Sort(took)
	if median, longest := quantile(took, .5), took[len(took)-1]; median > 0 && longest >= skewFactor*median && longest-median >= time.Second {
		s.Notes = append(s.Notes, note{Level: "Skew:", Class: warn, Cells: []cell{
			text(fmt.Sprintf("the slowest task took %s, %.1f times as long as the median (%s).", duration(longest), float64(longest)/float64(median), duration(median)))}})
	}
	if omitted := set.Counts.Omitted; omitted > 0 {
		s.Notes = append(s.Notes, note{Level: "Sampled:", Cells: []cell{text(plural(omitted, "attempt") + " of this task set ended in seconds with too many to keep; they are in no table below.")}})
	}
	s.Table = v.quantileTable(set, succeeded)
	return s
}

// A task is skewed if its duration is at least skewFactor times the median of its task set.
const skewFactor = 3

// metric is a quantity, such as the bytes read, with its values for all tasks.
type metric struct {
	name, hint string
	values     []int64
	format     func(int64) string
}

func micros(n int64) string { return duration(events.Micros(n).Duration()) }

func (v view) quantileTable(set *events.TaskSet, succeeded []*events.Attempt) *table {
	var metrics []metric
	add := func(name, hint string, format func(int64) string, get func(*events.Attempt) int64) {
		m := metric{name: name, hint: hint, format: format}
		for _, a := range succeeded {
			m.values = append(m.values, get(a))
		}
		metrics = append(metrics, m)
	}
	add("Time", "From launch by the driver until the driver knew the end", micros, func(a *events.Attempt) int64 { return int64(a.End - a.Start) })
	add("Queued", "Waiting at the executor for a core", micros, func(a *events.Attempt) int64 { return int64(a.Queue) })
	add("Decoding the input", "", micros, func(a *events.Attempt) int64 { return int64(a.Decode) })
	add("Running", "In the task's function", micros, func(a *events.Attempt) int64 { return int64(a.Run) })
	add("Encoding the result", "", micros, func(a *events.Attempt) int64 { return int64(a.Encode) })
	add("Driver and network", "What is left of the time", micros, func(a *events.Attempt) int64 { return int64(max(0, a.End-a.Start-a.Queue-a.Decode-a.Run-a.Encode)) })
	add("Result", "", size[int64], func(a *events.Attempt) int64 { return a.ResultBytes })
	add("Read", "", size[int64], func(a *events.Attempt) int64 { return a.BytesRead })
	add("Written", "", size[int64], func(a *events.Attempt) int64 { return a.BytesWritten })
	add("Peak memory of the executor", "", size[int64], func(a *events.Attempt) int64 { return a.PeakMemory })

	var measured []*events.Measurement
	for m := range v.Measurements() {
		if m.Set == set.Set {
			measured = append(measured, m)
		}
	}
	measure := func(name, hint string, format func(int64) string, get func(*events.Measurement) int64) {
		m := metric{name: name, hint: hint, format: format}
		for _, measurement := range measured {
			m.values = append(m.values, get(measurement))
		}
		metrics = append(metrics, m)
	}
	measure("Records in", "", count[int64], func(m *events.Measurement) int64 { return m.RecordsIn })
	measure("Records out", "", count[int64], func(m *events.Measurement) int64 { return m.RecordsOut })
	measure("Shuffle read on the host", "", size[int64], func(m *events.Measurement) int64 { return m.ShuffleLocal })
	measure("Shuffle read from others", "", size[int64], func(m *events.Measurement) int64 { return m.ShuffleRemote })
	measure("Shuffle written", "", size[int64], func(m *events.Measurement) int64 { return m.ShuffleWritten })
	measure("Spilled", "Written to disk because memory was full", size[int64], func(m *events.Measurement) int64 { return m.Spilled })

	metrics = slices.DeleteFunc(metrics, func(m metric) bool { return len(m.values) == 0 || slices.Max(m.values) == 0 })
	for _, m := range metrics {
		slices.Sort(m.values)
	}
	columns := []column[metric]{{Name: "", Cells: func(m metric) []cell { return []cell{{Text: m.name, Hint: m.hint}} }}}
	for _, q := range []struct {
		name     string
		fraction float64
	}{{"Least", 0}, {"25 %", .25}, {"Median", .5}, {"75 %", .75}, {"95 %", .95}, {"Most", 1}} {
		columns = append(columns, column[metric]{Name: q.name, Number: true, Cells: func(m metric) []cell { return []cell{text(m.format(quantile(m.values, q.fraction)))} }})
	}
	return tableOf(v.query, "metrics", "Distribution over tasks", "", metrics, func(m metric) string { return m.name }, columns)
}

// longestRunning lists the running attempts of a task set, the oldest first. If none runs, the
// section has no Table.
func (v view) longestRunning(set *events.TaskSet) section {
	var running []*events.Attempt
	for _, a := range v.RunningAttempts() {
		if a.Set == set.Set {
			running = append(running, &a)
		}
	}
	if len(running) == 0 {
		return section{}
	}
	slices.SortFunc(running, func(a, b *events.Attempt) int { return cmp.Compare(a.Start, b.Start) })
	return section{ID: "active", Title: "Longest running", Table: v.attemptTable("active", "Longest running", running[:min(len(running), mostShown)])}
}

// executorShare contains the attempts of a task set that one executor ran, in numbers.
type executorShare struct {
	executor                 *events.Executor
	number                   uint32 // number of the executor's registration
	succeeded, failed, other int
	took                     time.Duration // total duration of the successful attempts
	slowest                  time.Duration // duration of the slowest successful attempt
	read                     int64         // number of bytes that the successful attempts read
}

// executorShares compares the executors that ran tasks of a task set. ended contains the task
// set's attempts that have ended.
func (v view) executorShares(ended []*events.Attempt) section {
	perNumber := map[uint32]*executorShare{}
	for _, a := range ended {
		s := perNumber[a.Executor]
		if s == nil {
			s = &executorShare{executor: v.Executor(a.Executor), number: a.Executor}
			perNumber[a.Executor] = s
		}
		switch a.Outcome {
		case events.OutcomeSucceeded:
			s.succeeded++
			s.took += a.Took()
			s.slowest = max(s.slowest, a.Took())
			s.read += a.BytesRead
		case events.OutcomeFailed, events.OutcomeExecutorLost:
			s.failed++
		default:
			s.other++
		}
	}
	mean := func(s *executorShare) time.Duration { return s.took / time.Duration(max(1, s.succeeded)) }
	all := slices.SortedFunc(maps.Values(perNumber), func(a, b *executorShare) int {
		return cmp.Or(cmp.Compare(mean(b), mean(a)), cmp.Compare(a.number, b.number))
	})
	return section{ID: "shares", Title: "Executors", Table: tableOf(v.query, "shares", "Executors of these tasks", "", all,
		func(s *executorShare) string { return formatID(s.number) },
		[]column[*executorShare]{
			{Name: "Executor", Cells: func(s *executorShare) []cell {
				if s.executor == nil {
					return []cell{text("unknown")}
				}
				return []cell{executorLink(s.executor)}
			}},
			{Name: "Host", Cells: func(s *executorShare) []cell {
				if s.executor == nil {
					return nil
				}
				return []cell{text(s.executor.Host)}
			}},
			{Name: "Done", Number: true, Compare: by(func(s *executorShare) int { return s.succeeded }), Cells: func(s *executorShare) []cell { return []cell{number(s.succeeded)} }},
			{Name: "Failed", Number: true, Compare: by(func(s *executorShare) int { return s.failed }), Cells: func(s *executorShare) []cell { return []cell{failures(s.failed)} }},
			{Name: "Killed", Number: true, Cells: func(s *executorShare) []cell { return []cell{nonzero(s.other, count)} }},
			{Name: "Mean time", Number: true, Compare: by(mean), Cells: func(s *executorShare) []cell { return []cell{text(duration(mean(s)))} }},
			{Name: "Longest", Number: true, Compare: by(func(s *executorShare) time.Duration { return s.slowest }), Cells: func(s *executorShare) []cell { return []cell{text(duration(s.slowest))} }},
			{Name: "Sum", Number: true, Compare: by(func(s *executorShare) time.Duration { return s.took }), Cells: func(s *executorShare) []cell { return []cell{text(duration(s.took))} }},
			{Name: "Read", Number: true, Compare: by(func(s *executorShare) int64 { return s.read }), Cells: func(s *executorShare) []cell { return []cell{nonzero(s.read, size)} }},
		})}
}

// valueSections shows the sum of each counter over the task sets, and the largest value of each
// gauge. It returns nil if the task sets have neither counters nor gauges.
func valueSections(sets ...*events.TaskSet) []section {
	counters, gauges := map[string]int64{}, map[string]int64{}
	for _, set := range sets {
		for name, n := range set.Counters {
			counters[name] += n
		}
		for name, n := range set.Gauges {
			if largest, known := gauges[name]; !known || n > largest {
				gauges[name] = n
			}
		}
	}
	var facts []fact
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		facts = append(facts, fact{Name: visible(name), Cells: []cell{number(counters[name])}})
	}
	for _, name := range slices.Sorted(maps.Keys(gauges)) {
		facts = append(facts, fact{Name: visible(name), Hint: "The largest value of any attempt", Cells: []cell{number(gauges[name])}})
	}
	if len(facts) == 0 {
		return nil
	}
	return []section{{ID: "counters", Title: "Counters", Facts: facts}}
}

package ui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

const (
	// maxLanes is the maximum number of lanes on the Stream page.
	maxLanes = 400
	// maxColumns is the maximum number of columns, each an interval of time, in a lane.
	maxColumns = 4000
)

// lane is a row of bars for the attempts that one core of an executor ran.
type lane struct {
	Executor string `json:"executor"`
	Host     string `json:"host"`
	// Bars contains barFields numbers for each bar, ordered by time: the start of the bar as an
	// offset from lanes.From, and the length of the bar, both in microseconds; the index of its
	// task set in lanes.Sets; its task; its outcome; and how much of the bar is time to decode
	// the input, to run the function and to encode the result, in microseconds. The rest of the
	// bar is time in the driver and on the network. Adjacent attempts that are too short to be
	// distinguished share a bar, whose task is -1 and whose last three numbers are 0.
	Bars []int64 `json:"bars"`
}

const barFields = 8

type laneSet struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
}

// lanes is the data of the drawing on the Stream page: the attempts in the interval from From
// to To. Times are in microseconds since 1970.
type lanes struct {
	Begin   events.Micros `json:"begin"` // start of the first attempt
	End     events.Micros `json:"end"`   // end of the last attempt, or now
	From    events.Micros `json:"from"`  // beginning of the interval; To is its end
	To      events.Micros `json:"to"`
	Sets    []laneSet     `json:"sets"`
	Lanes   []lane        `json:"lanes"`
	Omitted int           `json:"omitted"` // number of lanes that are not shown
}

// coreTime is an attempt with the interval in which it occupied a core. It has copies of fields
// of the attempt: a million attempts are read in the order in which they are stored only once.
type coreTime struct {
	attempt    *events.Attempt
	begin, end events.Micros
	set        uint64
	task       uint32
	outcome    events.Outcome
}

// coreTimes are the attempts of an executor.
type coreTimes struct {
	executor *events.Executor
	count    int // number of ended attempts
	all      []coreTime
}

// lanesOf returns the lanes in the interval that the query specifies, by default from the start
// of the first attempt to the end of the last.
func (v view) lanesOf() lanes {
	perExecutor := make([]*coreTimes, len(v.Executors))
	byNumber := map[uint32]*coreTimes{} // by the number of the executor's registration
	for i, e := range v.Executors {
		perExecutor[i] = &coreTimes{executor: e}
		for _, number := range e.Numbers {
			byNumber[number] = perExecutor[i]
		}
	}
	for a := range v.Attempts() {
		if e := byNumber[a.Executor]; e != nil {
			e.count++
		}
	}
	l := lanes{Sets: []laneSet{}, Lanes: []lane{}}
	now := events.MicrosOf(v.end(time.Time{}))
	add := func(a *events.Attempt) {
		e := byNumber[a.Executor]
		if e == nil {
			return
		}
		b := coreTime{attempt: a, begin: a.Start + a.Queue, end: a.End, set: a.Set, task: a.Task, outcome: a.Outcome}
		if a.End == 0 {
			b.end = max(now, b.begin)
		}
		if l.Begin == 0 || b.begin < l.Begin {
			l.Begin = b.begin
		}
		l.End = max(l.End, b.end)
		if e.all == nil {
			e.all = make([]coreTime, 0, e.count)
		}
		e.all = append(e.all, b)
	}
	for a := range v.Attempts() {
		add(a)
	}
	for _, a := range v.RunningAttempts() {
		add(&a)
	}
	l.From, l.To = v.query.span(l.Begin, l.End)
	columns, err := strconv.Atoi(v.query.get("columns"))
	if err != nil || columns < 1 || columns > maxColumns {
		columns = maxColumns / 4
	}
	reduce := laneDrawer{lanes: &l, width: max((l.To-l.From)/events.Micros(columns), 1), index: map[uint64]int64{}, view: v}
	for _, e := range perExecutor {
		for _, bars := range reduce.perCore(e.all, e.executor.Cores) {
			if len(l.Lanes) == maxLanes {
				l.Omitted++
				continue
			}
			l.Lanes = append(l.Lanes, lane{Executor: visible(e.executor.ID), Host: visible(e.executor.Host), Bars: bars})
		}
	}
	return l
}

// span returns the parameters "from" and "to" of a query. For a parameter that is missing or not
// between begin and end, it returns a default: begin for "from", and end for "to".
func (q query) span(begin, end events.Micros) (from, to events.Micros) {
	parse := func(key string, otherwise events.Micros) events.Micros {
		n, err := strconv.ParseInt(q.get(key), 10, 64)
		if err != nil || events.Micros(n) < begin || events.Micros(n) > end {
			return otherwise
		}
		return events.Micros(n)
	}
	from, to = parse("from", begin), parse("to", end)
	if from >= to {
		return begin, end
	}
	return from, to
}

// laneDrawer converts attempts to bars. It merges attempts that are shorter than width, the
// time that one column of the drawing represents.
type laneDrawer struct {
	lanes *lanes
	view  view
	width events.Micros
	index map[uint64]int64 // index in lanes.Sets, by the id of the task set

	latest      uint64 // the id that was passed to the latest call of laneDrawer.set
	latestIndex int64
}

// perCore assigns an executor's attempts to its cores, so that the attempts on one core do not
// overlap, and returns the bars of each core. Times are inexact, so an attempt may overlap with
// attempts on all cores; perCore then assigns it to the core whose last attempt ends first.
func (r *laneDrawer) perCore(attempts []coreTime, cores int) (bars [][]int64) {
	slices.SortFunc(attempts, func(a, b coreTime) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.set, b.set), cmp.Compare(a.task, b.task))
	})
	var ends []events.Micros // end of the last attempt on each core
	for _, a := range attempts {
		best := -1
		for i, end := range ends {
			if end <= a.begin {
				best = i
				break
			}
			if best < 0 || end < ends[best] {
				best = i
			}
		}
		if best < 0 || ends[best] > a.begin && len(ends) < cores {
			ends, bars = append(ends, 0), append(bars, []int64{})
			best = len(ends) - 1
		}
		ends[best], bars[best] = a.end, r.draw(bars[best], a)
	}
	return bars
}

// draw adds a bar for an attempt to the bars of its core, or merges the attempt with the last
// bar if both are too short to be distinguished.
func (r *laneDrawer) draw(bars []int64, a coreTime) []int64 {
	begin, end := max(a.begin, r.lanes.From), min(a.end, r.lanes.To)
	if end <= begin && (a.end < r.lanes.From || a.begin > r.lanes.To) {
		return bars
	}
	start, length, set := int64(begin-r.lanes.From), int64(max(0, end-begin)), r.set(a.set)
	if n := len(bars); n > 0 && length < int64(r.width) {
		last := bars[n-barFields:]
		lastEnd := last[0] + last[1]
		sameLook := last[2] == set && (last[4] == int64(a.outcome) || last[1] < int64(r.width))
		if sameLook && start-lastEnd < int64(r.width) && (last[3] == -1 || last[1] < int64(r.width)) {
			last[1], last[3] = max(last[1], start+length-last[0]), -1
			last[4] = worse(last[4], int64(a.outcome))
			clear(last[5:])
			return bars
		}
	}
	bars = append(bars, start, length, set, int64(a.task), int64(a.outcome))
	if length < int64(r.width) {
		return append(bars, 0, 0, 0)
	}
	reached, phaseEnd := begin, a.begin
	for _, phase := range []events.Micros{a.attempt.Decode, a.attempt.Run, a.attempt.Encode} {
		phaseEnd += phase
		next := min(max(reached, phaseEnd), end)
		bars, reached = append(bars, int64(next-reached)), next
	}
	return bars
}

// worse returns the worse of two outcomes, for a bar that two attempts share.
func worse(a, b int64) int64 {
	for _, outcome := range []events.Outcome{events.OutcomeFailed, events.OutcomeExecutorLost} {
		if a == int64(outcome) || b == int64(outcome) {
			return int64(outcome)
		}
	}
	return max(a, b)
}

func (r *laneDrawer) set(id uint64) int64 {
	if id == r.latest && len(r.lanes.Sets) > 0 {
		return r.latestIndex
	}
	i, known := r.index[id]
	if !known {
		i = int64(len(r.lanes.Sets))
		r.index[id] = i
		s := laneSet{ID: id, Name: "task set " + formatID(id)}
		if _, set := r.view.Set(id); set != nil {
			s.Name = visible(cmp.Or(set.Name, s.Name))
		}
		r.lanes.Sets = append(r.lanes.Sets, s)
	}
	r.latest, r.latestIndex = id, i
	return i
}

// executorUse is the time for which tasks occupied an executor's cores.
type executorUse struct {
	executor *events.Executor
	attempts int
	busy     time.Duration
	lasted   time.Duration
}

// stream shows all attempts in lanes, one for each core, which a script draws. A table, which
// needs no script, shows how busy each executor was.
func stream(v view) content {
	perExecutor := map[*events.Executor]*executorUse{}
	add := func(a *events.Attempt, took time.Duration) {
		e := v.Executor(a.Executor)
		if e == nil {
			return
		}
		u := perExecutor[e]
		if u == nil {
			u = &executorUse{executor: e, lasted: v.lasted(e.Registered, e.Lost)}
			perExecutor[e] = u
		}
		u.attempts++
		u.busy += max(0, took-a.Queue.Duration())
	}
	for a := range v.Attempts() {
		add(a, a.Took())
	}
	for _, a := range v.RunningAttempts() {
		add(&a, v.took(&a))
	}
	used := slices.SortedFunc(maps.Values(perExecutor), func(a, b *executorUse) int { return byID(a.executor, b.executor) })
	part := func(u *executorUse) float64 {
		return u.busy.Seconds() / max(u.lasted.Seconds()*float64(max(1, u.executor.Cores)), 1e-6)
	}
	c := content{Title: "Stream"}
	if len(used) > 0 {
		c.Sections = append(c.Sections, section{ID: "lanes", Lanes: "?data=stream"})
	}
	c.Sections = append(c.Sections, section{ID: "use", Title: "How busy the executors were", Table: tableOf(v.query, "use", "Use of executors", "No task has been launched.", used,
		func(u *executorUse) string { return u.executor.ID },
		[]column[*executorUse]{
			{Name: "Executor", Compare: func(a, b *executorUse) int { return byID(a.executor, b.executor) }, Cells: func(u *executorUse) []cell { return []cell{executorLink(u.executor)} }},
			{Name: "Host", Compare: byText(func(u *executorUse) string { return u.executor.Host }), Cells: func(u *executorUse) []cell { return []cell{text(u.executor.Host)} }},
			{Name: "Cores", Number: true, Cells: func(u *executorUse) []cell { return []cell{number(u.executor.Cores)} }},
			{Name: "Attempts", Number: true, Compare: by(func(u *executorUse) int { return u.attempts }), Cells: func(u *executorUse) []cell { return []cell{number(u.attempts)} }},
			{Name: "Time in tasks", Number: true, Compare: by(func(u *executorUse) time.Duration { return u.busy }), Cells: func(u *executorUse) []cell { return []cell{text(duration(u.busy))} }},
			{Name: "Busy", Hint: "Of its cores, since it registered", Compare: by(part), Cells: func(u *executorUse) []cell {
				return []cell{share(part(u), 1, fmt.Sprintf("%.0f %%", min(100, 100*part(u))))}
			}},
		})})
	return c
}

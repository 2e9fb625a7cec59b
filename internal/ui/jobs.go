package ui

import (
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
)

func jobs(v view) content {
	all := slices.Clone(v.Jobs)
	slices.Reverse(all)
	return content{Title: "Jobs", Sections: []section{{ID: "jobs", Table: v.jobTable("jobs", "Jobs", "No job has been submitted.", all)}}}
}

func (v view) jobTable(name, label, empty string, all []*events.Job) *table {
	return tableOf(v.query, name, label, empty, all, func(j *events.Job) string { return formatID(j.Job) }, []column[*events.Job]{
		{Name: "Job", Number: true, Compare: by(func(j *events.Job) uint64 { return j.Job }), Cells: func(j *events.Job) []cell { return []cell{text(formatID(j.Job))} }},
		{Name: "Name", Wide: true, Compare: byText(func(j *events.Job) string { return j.Name }), Cells: func(j *events.Job) []cell {
			if j.Description == "" {
				return []cell{jobLink(j)}
			}
			return []cell{jobLink(j), classed(j.Description, dim)}
		}},
		{Name: "Group", Compare: byText(func(j *events.Job) string { return j.Group }), Cells: func(j *events.Job) []cell { return []cell{text(j.Group)} }},
		{Name: "Pool", Compare: byText(func(j *events.Job) string { return j.Pool }), Cells: func(j *events.Job) []cell { return []cell{text(j.Pool)} }},
		{Name: "State", Compare: byText(func(j *events.Job) string { return j.State }), Cells: func(j *events.Job) []cell {
			return []cell{stateCell(j.State), classed(firstLine(j.Error, 160), dim)}
		}},
		{Name: "Tasks done", Cells: func(j *events.Job) []cell { return []cell{course(j.Counts)} }},
		{Name: "Running", Number: true, Compare: by(func(j *events.Job) int { return j.Counts.Running }), Cells: func(j *events.Job) []cell { return []cell{nonzero(j.Counts.Running, count)} }},
		{Name: "Failed", Hint: "Attempts that failed", Number: true, Compare: by(func(j *events.Job) int { return j.Counts.FailedAttempts }), Cells: func(j *events.Job) []cell { return []cell{failures(j.Counts.FailedAttempts)} }},
		{Name: "Submitted", Compare: by(func(j *events.Job) int64 { return j.Time.Time.UnixNano() }), Cells: func(j *events.Job) []cell { return []cell{instant(j.Time.Time)} }},
		{Name: "Took", Number: true, Compare: by(func(j *events.Job) time.Duration { return v.lasted(j.Time.Time, j.Ended) }), Cells: func(j *events.Job) []cell {
			return []cell{text(duration(v.lasted(j.Time.Time, j.Ended)))}
		}},
		{Name: "Time in tasks", Number: true, Compare: by(func(j *events.Job) events.Micros { return j.Counts.Sums.Took }), Cells: func(j *events.Job) []cell {
			return []cell{text(duration(j.Counts.Sums.Took.Duration()))}
		}},
	})
}

// job shows a job. If the job has only one task set and no stages, the page includes the tasks
// of the task set.
func job(v view) (content, bool) {
	id, ok := v.query.id("id")
	j := v.Job(id)
	if !ok || j == nil {
		return content{}, false
	}
	c := content{Title: "Job " + formatID(j.Job) + ": " + visible(jobName(j)), Path: []link{{Text: "Jobs", Link: to(jobsPage)}}}
	summary := section{ID: "summary", Progress: progressOf(j.Counts), Facts: noZero(append([]fact{
		{Name: "State", Cells: []cell{stateCell(j.State)}},
		{Name: "Submitted", Cells: []cell{instant(j.Time.Time)}},
		factOf("Took", duration(v.lasted(j.Time.Time, j.Ended))),
		factOf("Description", j.Description), factOf("Group", j.Group), factOf("Pool", j.Pool),
	}, countFacts(j.Counts)...))}
	if j.State == events.StateRunning {
		summary.Facts = append(summary.Facts, v.profileFact("Profile", profiling.Request{Job: j.Job})...)
	}
	if j.Error != "" {
		summary.Notes = append(summary.Notes, note{Level: "Ended:", Class: bad, Cells: []cell{text(j.Error)}})
	}
	c.Sections = append(c.Sections, summary)
	if len(j.Stages) == 0 && len(j.Sets) == 1 {
		summary.Notes = append(summary.Notes, waits(j.Sets[0])...)
		summary.Facts = append(summary.Facts, attemptsFact(j.Sets[0]))
		c.Sections[0] = summary
		c.Sections = append(c.Sections, v.setSections(j.Sets[0])...)
		return c, true
	}
	c.Sections = append(append(c.Sections, v.stagesSection(j)), valueSections(j.Sets...)...)
	if groups := v.failuresOf(j.Sets...); len(groups) > 0 {
		c.Sections = append(c.Sections, v.failureSection(groups))
	}
	return c, true
}

// stageRow is a row in the table of a job's stages: a task set, or a planned stage that has no
// task set yet.
type stageRow struct {
	plan events.StagePlan
	set  *events.TaskSet // nil if the stage has no task set yet
}

func (v view) stagesSection(j *events.Job) section {
	var rows []stageRow
	planned := map[uint64]bool{}
	for _, plan := range j.Stages {
		planned[plan.Stage] = true
		found := false
		for _, set := range j.Sets {
			if set.Stage == plan.Stage {
				rows, found = append(rows, stageRow{plan, set}), true
			}
		}
		if !found {
			rows = append(rows, stageRow{plan: plan})
		}
	}
	for _, set := range j.Sets {
		if !planned[set.Stage] {
			rows = append(rows, stageRow{plan: events.StagePlan{Stage: set.Stage, Name: set.Name}, set: set})
		}
	}
	counts := func(r stageRow) events.Counts {
		if r.set == nil {
			return events.Counts{}
		}
		return r.set.Counts
	}
	measured := v.measured(j.Sets)
	sums := func(r stageRow) events.Measurement {
		if r.set == nil {
			return events.Measurement{}
		}
		return measured[r.set.Set]
	}
	return section{ID: "stages", Title: "Stages", Table: tableOf(v.query, "stages", "Stages", "No stage has been submitted.", rows,
		func(r stageRow) string {
			if r.set == nil {
				return "planned-" + formatID(r.plan.Stage)
			}
			return formatID(r.set.Set)
		},
		[]column[stageRow]{
			{Name: "Stage", Number: true, Cells: func(r stageRow) []cell { return []cell{text(formatID(r.plan.Stage))} }},
			{Name: "Name", Wide: true, Cells: func(r stageRow) []cell {
				if r.set == nil {
					return []cell{text(r.plan.Name)}
				}
				return []cell{setLink(r.set)}
			}},
			{Name: "Reads", Hint: "The stages whose output the stage reads", Cells: func(r stageRow) []cell {
				var ids []string
				for _, parent := range r.plan.Parents {
					ids = append(ids, formatID(parent))
				}
				return []cell{text(strings.Join(ids, ", "))}
			}},
			{Name: "State", Cells: func(r stageRow) []cell {
				switch {
				case r.set != nil:
					return []cell{stateCell(r.set.State), classed(firstLine(r.set.Error, 160), dim)}
				case j.Ended.IsZero():
					return []cell{classed("waiting, or its output is there", dim)}
				default:
					return []cell{classed("did not run", dim)}
				}
			}},
			{Name: "Tasks done", Cells: func(r stageRow) []cell {
				if r.set == nil {
					return nil
				}
				return []cell{course(counts(r))}
			}},
			{Name: "Failed", Number: true, Hint: "Attempts that failed", Cells: func(r stageRow) []cell { return []cell{failures(counts(r).FailedAttempts)} }},
			{Name: "Took", Number: true, Cells: func(r stageRow) []cell {
				if r.set == nil {
					return nil
				}
				return []cell{text(duration(v.lasted(r.set.Time.Time, r.set.Ended)))}
			}},
			{Name: "Records in", Number: true, Cells: func(r stageRow) []cell { return []cell{nonzero(sums(r).RecordsIn, count)} }},
			{Name: "Records out", Number: true, Cells: func(r stageRow) []cell { return []cell{nonzero(sums(r).RecordsOut, count)} }},
			{Name: "Input", Number: true, Cells: func(r stageRow) []cell { return []cell{nonzero(counts(r).Sums.BytesRead, size)} }},
			{Name: "Shuffle read", Number: true, Cells: func(r stageRow) []cell { return []cell{nonzero(sums(r).ShuffleLocal+sums(r).ShuffleRemote, size)} }},
			{Name: "Shuffle written", Number: true, Cells: func(r stageRow) []cell { return []cell{nonzero(sums(r).ShuffleWritten, size)} }},
			{Name: "Spilled", Hint: "Written to disk because memory was full", Number: true, Cells: func(r stageRow) []cell { return []cell{nonzero(sums(r).Spilled, size)} }},
			{Name: "Output", Number: true, Cells: func(r stageRow) []cell { return []cell{nonzero(counts(r).Sums.BytesWritten, size)} }},
		})}
}

// measured returns the sums of the measurements of each task set, by the id of the task set.
func (v view) measured(sets []*events.TaskSet) map[uint64]events.Measurement {
	sums := map[uint64]events.Measurement{}
	for _, set := range sets {
		sums[set.Set] = events.Measurement{}
	}
	for m := range v.Measurements() {
		sum, ok := sums[m.Set]
		if !ok {
			continue
		}
		sum.RecordsIn += m.RecordsIn
		sum.RecordsOut += m.RecordsOut
		sum.ShuffleLocal += m.ShuffleLocal
		sum.ShuffleRemote += m.ShuffleRemote
		sum.ShuffleWritten += m.ShuffleWritten
		sum.Spilled += m.Spilled
		sums[m.Set] = sum
	}
	return sums
}

func progressOf(c events.Counts) *progress {
	if c.Tasks == 0 {
		return nil
	}
	s := count(c.Done) + " of " + plural(c.Tasks, "task") + " done"
	if c.Running > 0 {
		s += ", " + count(c.Running) + " running"
	}
	return &progress{Share: float64(c.Done) / float64(c.Tasks), Text: s}
}

// countFacts returns the numbers of a job or task set as facts. Most facts have an empty text
// if the number is 0, so that noZero removes them.
func countFacts(c events.Counts) []fact {
	return []fact{
		{Name: "Failed attempts", Cells: []cell{failures(c.FailedAttempts)}},
		{Name: "Lost attempts", Hint: "Whose executors were lost", Cells: []cell{failures(c.LostAttempts)}},
		{Name: "Killed attempts", Hint: "That another attempt or the job's end made superfluous", Cells: []cell{nonzero(c.KilledAttempts, count)}},
		{Name: "Speculative attempts", Cells: []cell{nonzero(c.SpeculativeCopies, count)}},
		{Name: "Time in tasks", Cells: []cell{nonzero(int64(c.Sums.Took), func(n int64) string { return duration(events.Micros(n).Duration()) })}},
		{Name: "Read", Cells: []cell{nonzero(c.Sums.BytesRead, size)}},
		{Name: "Written", Cells: []cell{nonzero(c.Sums.BytesWritten, size)}},
		{Name: "Results", Cells: []cell{nonzero(c.Sums.ResultBytes, size)}},
		{Name: "Locality", Hint: "Where attempts ran, by the distance from their data", Cells: []cell{text(localities(c.Sums.Localities[:]))}},
	}
}

// localityNames are the names of the constants events.Locality…, in the order of their values.
var localityNames = []string{"process", "node", "no preference", "rack", "any"}

func localities(counts []int) string {
	var parts []string
	for level, n := range counts {
		if n > 0 {
			parts = append(parts, localityNames[level]+" "+count(n))
		}
	}
	return strings.Join(parts, ", ")
}

// failuresOf returns the groups of failures that contain failures of attempts of the task sets.
func (v view) failuresOf(sets ...*events.TaskSet) []*events.FailureGroup {
	var groups []*events.FailureGroup
	for _, group := range v.Failures {
		if slices.ContainsFunc(sets, func(set *events.TaskSet) bool { return group.Sets[set.Set] > 0 }) {
			groups = append(groups, group)
		}
	}
	return groups
}

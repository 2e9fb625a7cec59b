package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// hasSteps reports whether the application runs a job file. An application that runs a single
// command without a job file has one step with an empty name.
func (v view) hasSteps() bool {
	return slices.ContainsFunc(v.Steps, func(s *events.Step) bool { return s.Name != "" })
}

// steps creates the page with the steps of a job file, in the order of the file.
func steps(v view) content {
	all := v.Steps
	if !v.hasSteps() {
		all = nil
	}
	jobs := map[string]*events.Job{} // by name, because the job of a step has the step's name
	for _, j := range v.Jobs {
		jobs[j.Name] = j
	}
	counts := func(s *events.Step) events.Counts {
		if j := jobs[s.Name]; j != nil {
			return j.Counts
		}
		return events.Counts{Tasks: s.Tasks}
	}
	return content{Title: "Steps", Sections: []section{{ID: "steps", Table: tableOf(v.query, "steps", "Steps", "The application runs no job file.", all,
		func(s *events.Step) string { return s.Name },
		[]column[*events.Step]{
			{Name: "Step", Wide: true, Compare: byText(func(s *events.Step) string { return s.Name }), Cells: func(s *events.Step) []cell {
				if j := jobs[s.Name]; j != nil {
					return []cell{jobLink(j)}
				}
				return []cell{text(s.Name)}
			}},
			{Name: "State", Compare: byText(func(s *events.Step) string { return s.State }), Cells: func(s *events.Step) []cell {
				if s.State == events.StateWaiting && !running(v.Snapshot) {
					return []cell{classed("did not run", dim)}
				}
				return []cell{stateCell(s.State), text(firstLine(s.Error, 200))}
			}},
			{Name: "Waits for", Wide: true, Cells: func(s *events.Step) []cell { return []cell{classed(v.waitsFor(s, jobs[s.Name]), warn)} }},
			{Name: "Tasks done", Cells: func(s *events.Step) []cell {
				done := course(counts(s))
				if j := jobs[s.Name]; j != nil && len(j.Sets) > 0 {
					done.Link = to(tasksPage, "id", formatID(j.Sets[0].Set))
				}
				return []cell{done}
			}},
			{Name: "Failed", Hint: "Attempts that failed", Number: true, Cells: func(s *events.Step) []cell { return []cell{failures(counts(s).FailedAttempts)} }},
			{Name: "Started", Compare: by(func(s *events.Step) int64 { return s.Started.UnixNano() }), Cells: func(s *events.Step) []cell { return []cell{instant(s.Started)} }},
			{Name: "Took", Number: true, Compare: by(func(s *events.Step) time.Duration { return v.lasted(s.Started, s.Ended) }), Cells: func(s *events.Step) []cell {
				if s.Started.IsZero() {
					return nil
				}
				return []cell{text(duration(v.lasted(s.Started, s.Ended)))}
			}},
		})}}}
}

// waitsFor returns the reason why step s waits: the names of the steps that it needs, or the
// reasons why tasks of its job j wait. j may be nil. It returns "" if s does not wait.
func (v view) waitsFor(s *events.Step, j *events.Job) string {
	if !running(v.Snapshot) || !s.Ended.IsZero() {
		return ""
	}
	var reasons []string
	if s.State == events.StateWaiting {
		for _, other := range v.Steps {
			if other.Ended.IsZero() && slices.Contains(s.Needs, other.Name) {
				reasons = append(reasons, other.Name)
			}
		}
	} else if j != nil {
		for _, set := range j.Sets {
			if set.Ended.IsZero() && set.WaitReason != "" {
				reasons = append(reasons, set.WaitReason)
			}
		}
	}
	return strings.Join(reasons, ", ")
}

// stepsFact returns the number of steps that have ended, with a link to the page of all steps.
func (v view) stepsFact() []fact {
	if !v.hasSteps() {
		return nil
	}
	ended := 0
	for _, s := range v.Steps {
		if !s.Ended.IsZero() {
			ended++
		}
	}
	return []fact{{Name: "Steps", Cells: []cell{linked(fmt.Sprintf("%s of %s ended", count(ended), count(len(v.Steps))), to(stepsPage))}}}
}

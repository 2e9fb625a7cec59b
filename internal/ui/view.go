package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// Names of the pages, which are the values of the query parameter "page".
const (
	overviewPage  = "overview"
	jobsPage      = "jobs"
	jobPage       = "job"
	stagePage     = "stage"
	tasksPage     = "tasks"
	taskPage      = "task"
	executorsPage = "executors"
	executorPage  = "executor"
	storagePage   = "storage"
	settingsPage  = "settings"
	eventsPage    = "events"
	streamPage    = "stream"
	stepsPage     = "steps"
	profilePage   = "profile" // not in contents, because Pages.serveProfile creates this page
)

// contents maps the name of each page to the function that creates the page's content. The
// function returns false if the query contains an id that does not exist, such as that of an
// unknown job.
var contents = map[string]func(view) (content, bool){
	overviewPage:  always(overview),
	jobsPage:      always(jobs),
	jobPage:       job,
	stagePage:     stage,
	tasksPage:     tasks,
	taskPage:      task,
	executorsPage: always(executors),
	executorPage:  executor,
	storagePage:   always(storage),
	settingsPage:  always(settings),
	eventsPage:    always(eventLog),
	streamPage:    always(stream),
	stepsPage:     always(steps),
}

func always(show func(view) content) func(view) (content, bool) {
	return func(v view) (content, bool) { return show(v), true }
}

// navigation returns the links at the top of a page. current is the name of this page.
func (v view) navigation(current string) []link {
	within := map[string]string{jobPage: jobsPage, stagePage: jobsPage, tasksPage: jobsPage, taskPage: jobsPage, executorPage: executorsPage, profilePage: executorsPage}
	current = cmp.Or(within[current], current)
	var links []link
	for _, page := range []link{
		{Text: "Overview", Link: overviewPage}, {Text: "Steps", Link: stepsPage}, {Text: "Stream", Link: streamPage}, {Text: "Jobs", Link: jobsPage}, {Text: "Executors", Link: executorsPage},
		{Text: "Storage", Link: storagePage}, {Text: "Settings", Link: settingsPage}, {Text: "Events", Link: eventsPage},
	} {
		if page.Link != stepsPage || v.hasSteps() {
			links = append(links, link{Text: page.Text, Link: to(page.Link), Current: page.Link == current})
		}
	}
	return links
}

func missing() content {
	return content{Title: "Not found", Sections: []section{{ID: "missing", Notes: []note{{
		Level: "Unknown:", Class: warn, Cells: []cell{text("This application has no such page, job, task or executor. Of a long application, the oldest jobs are not kept.")},
	}}}}}
}

// view is the data from which the response to one request is created: a snapshot of the
// application, the request's query, and the current time.
type view struct {
	*events.Snapshot
	query    query
	now      time.Time
	partial  bool // whether the snapshot is incomplete, because the event log is still being read
	profiles bool // whether the pages have links that take profiles
}

// running reports whether the application had not ended when the snapshot was taken.
func running(s *events.Snapshot) bool {
	return s.Application.State == "" || s.Application.State == events.StateRunning
}

// end returns ended, the end of a job, an executor and so on. If ended is zero, because there was
// no end yet, end returns the end of the application or, while the application runs, the current
// time.
func (v view) end(ended time.Time) time.Time {
	if ended.IsZero() {
		if !running(v.Snapshot) {
			return v.Application.Ended
		}
		return v.now
	}
	return ended
}

// lasted returns the duration of something that began and ended at the given times. It returns
// 0 if began is zero. If ended is zero, see view.end.
func (v view) lasted(began, ended time.Time) time.Duration {
	if began.IsZero() {
		return 0
	}
	return max(0, v.end(ended).Sub(began))
}

// describe sets the fields of l that identify the application and its state.
func (v view) describe(l *layout) {
	a := v.Application
	l.Application = visible(cmp.Or(a.Name, a.ID))
	state := a.State
	if running(v.Snapshot) {
		state = events.StateRunning
	}
	l.State, l.StateClass = state, classOf(state)
	var parts []string
	for _, part := range []string{visible(a.ID), attemptText(a.Attempt), visible(a.User)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if !a.Time.Time.IsZero() {
		parts = append(parts, "since "+moment(a.Time.Time), duration(v.lasted(a.Time.Time, a.Ended)))
	}
	l.Caption = strings.Join(parts, " · ")
}

func attemptText(attempt int) string {
	if attempt == 0 {
		return ""
	}
	return "attempt " + strconv.Itoa(attempt)
}

// classOf returns the style class of the name of a state: good, warn, bad or "".
func classOf(state string) string {
	switch state {
	case events.StateSucceeded, events.ExecutorStateRegistered:
		return good
	case events.StateFailed:
		return bad
	case events.StateCancelled, events.StateKilled, events.ExecutorStateDecommissioning:
		return warn
	default:
		return ""
	}
}

func stateCell(state string) cell { return classed(cmp.Or(state, events.StateRunning), classOf(state)) }

// id returns the value of the query parameter that key names, as a number. It returns false if
// the value is not a number.
func (q query) id(key string) (uint64, bool) {
	n, err := strconv.ParseUint(q.get(key), 10, 64)
	return n, err == nil
}

func formatID[N ~int | ~uint32 | ~uint64](id N) string { return strconv.FormatUint(uint64(id), 10) }

func jobLink(job *events.Job) cell {
	return linked(jobName(job), to(jobPage, "id", formatID(job.Job)))
}

func jobName(job *events.Job) string { return cmp.Or(job.Name, "Job "+formatID(job.Job)) }

// setTitle returns the title of the page of a task set.
func setTitle(set *events.TaskSet) string {
	if set.Stage != 0 {
		return fmt.Sprintf("Stage %d: %s", set.Stage, visible(set.Name))
	}
	return fmt.Sprintf("Task set %d: %s", set.Set, visible(set.Name))
}

func setLink(set *events.TaskSet) cell {
	return linked(cmp.Or(set.Name, "Task set "+formatID(set.Set)), to(stagePage, "id", formatID(set.Set)))
}

func executorLink(e *events.Executor) cell { return linked(e.ID, to(executorPage, "id", e.ID)) }

// course returns a cell with the numbers of finished and of all tasks, such as "3 / 8", and a bar.
func course(c events.Counts) cell {
	return share(float64(c.Done), float64(c.Tasks), count(c.Done)+" / "+count(c.Tasks))
}

// failures returns a cell with a number of failures in the class bad. The cell is empty if n is
// 0.
func failures(n int) cell {
	if n == 0 {
		return cell{}
	}
	return classed(count(n), bad)
}

// nonzero returns a cell with a formatted number. The cell is empty if n is 0.
func nonzero[N ~int | ~int64](n N, format func(N) string) cell {
	if n == 0 {
		return cell{}
	}
	return text(format(n))
}

// noZero returns the facts whose text is not empty.
func noZero(facts []fact) []fact {
	return slices.DeleteFunc(facts, func(f fact) bool {
		return !slices.ContainsFunc(f.Cells, func(c cell) bool { return c.Text != "" })
	})
}

// byText returns a comparison function for sorting items by a text.
func byText[T any](get func(T) string) func(a, b T) int {
	return func(a, b T) int { return strings.Compare(get(a), get(b)) }
}

// by returns a comparison function for sorting items by an ordered value, such as a number.
func by[T any, N cmp.Ordered](get func(T) N) func(a, b T) int {
	return func(a, b T) int { return cmp.Compare(get(a), get(b)) }
}

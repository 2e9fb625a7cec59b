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

// Names of the pages, as in the query parameter "page".
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
	profilePage   = "profile" // not in contents, because Pages.serveProfile makes this page
)

// contents has the function that makes a page's content, by the name of the page. The function
// returns false if the query names something that does not exist, such as an unknown job.
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

// navigation returns the links at the top of a page.
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

// view is what the answer to one request is made from: a snapshot of the application, the
// request's query, and the time.
type view struct {
	*events.Snapshot
	query    query
	now      time.Time
	partial  bool // whether the snapshot is incomplete, because the event log is still being read
	profiles bool // whether the pages offer profiles
}

// running reports whether the application had not ended when the snapshot was taken.
func running(s *events.Snapshot) bool {
	return s.Application.State == "" || s.Application.State == events.StateRunning
}

// end returns ended, the time at which something ended, unless it is zero. If it is, the thing
// has not ended, and end returns the end of the application, or now if that runs.
func (v view) end(ended time.Time) time.Time {
	if ended.IsZero() {
		if !running(v.Snapshot) {
			return v.Application.Ended
		}
		return v.now
	}
	return ended
}

// lasted returns how long something took or takes; 0 if it has not begun.
func (v view) lasted(began, ended time.Time) time.Duration {
	if began.IsZero() {
		return 0
	}
	return max(0, v.end(ended).Sub(began))
}

// describe sets the fields of l that say which application this is, and its state.
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

// classOf returns the class of the text of a state: good, warn, bad or "".
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

// id returns the query parameter key as a number, and whether it is one.
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

// course returns how many of the tasks are done, such as "3 / 8", with a bar.
func course(c events.Counts) cell {
	return share(float64(c.Done), float64(c.Tasks), count(c.Done)+" / "+count(c.Tasks))
}

// failures returns a number of failures in the class bad. If it is 0, the cell is empty.
func failures(n int) cell {
	if n == 0 {
		return cell{}
	}
	return classed(count(n), bad)
}

// nonzero returns a formatted number. If it is 0, the cell is empty.
func nonzero[N ~int | ~int64](n N, format func(N) string) cell {
	if n == 0 {
		return cell{}
	}
	return text(format(n))
}

// noZero returns the facts that have a text, and leaves out the others.
func noZero(facts []fact) []fact {
	return slices.DeleteFunc(facts, func(f fact) bool {
		return !slices.ContainsFunc(f.Cells, func(c cell) bool { return c.Text != "" })
	})
}

// byText returns a function that compares items by a text, for sorting.
func byText[T any](get func(T) string) func(a, b T) int {
	return func(a, b T) int { return strings.Compare(get(a), get(b)) }
}

// by returns a function that compares items by an ordered value, such as a number, for sorting.
func by[T any, N cmp.Ordered](get func(T) N) func(a, b T) int {
	return func(a, b T) int { return cmp.Compare(get(a), get(b)) }
}

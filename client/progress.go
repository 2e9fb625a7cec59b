package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Progress is an ApplicationMaster's progress, from the path api/status below its
// tracking URL. Unreported fields are zero.
type Progress struct {
	State     string         `json:"state"`
	Executors ExecutorCounts `json:"executors"`
	Failures  []FailureCount `json:"failures"`
	// Exclusions are the hosts on which no executors are started.
	Exclusions []Exclusion `json:"exclusions"`
	// Notes are problems for users, such as why no executor starts.
	Notes    []string   `json:"notes,omitempty"`
	Tasks    TaskCounts `json:"tasks"`
	TaskSets []TaskSet  `json:"taskSets"`
	// Details are the executors, including lost ones.
	Details []ExecutorDetail `json:"executorDetails,omitempty"`
}

// ExecutorDetail is the driver's view of one executor.
type ExecutorDetail struct {
	ID            string `json:"id"`
	Host          string `json:"host"`
	State         string `json:"state"`
	Cores         int    `json:"cores"`
	Running       int    `json:"running"` // running tasks
	Done          int    `json:"done"`
	Failed        int    `json:"failed"` // failed task attempts
	ResidentBytes uint64 `json:"residentBytes"`
	Reason        string `json:"reason,omitempty"` // why it was lost
}

// TaskCounts counts the tasks of all task sets; Failed counts failed attempts.
type TaskCounts struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Running int `json:"running"`
	Failed  int `json:"failed"`
}

// TaskSet is a task set that is running or has ended.
type TaskSet struct {
	ID          uint64 `json:"id,omitempty"` // the job's id
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Group       string `json:"group,omitempty"`
	Pool        string `json:"pool,omitempty"`
	State       string `json:"state,omitempty"`
	TaskCounts
}

func parseStatus(body []byte) (*Progress, error) {
	parsed := &Progress{}
	if err := json.Unmarshal(body, parsed); err != nil {
		return nil, fmt.Errorf("the ApplicationMaster's status: %w", err)
	}
	return parsed, nil
}

// current returns the first unfinished task set, or the totals if all are finished.
func (s *Progress) current() TaskSet {
	for _, set := range s.TaskSets {
		if set.Done < set.Total {
			return set
		}
	}
	return TaskSet{Name: "tasks", TaskCounts: s.Tasks}
}

// idle reports whether all known tasks are done or no driver runs, so that the
// application may end soon.
func (s *Progress) idle() bool {
	return s.Tasks.Total > 0 && s.Tasks.Done >= s.Tasks.Total || s.State != "" && s.State != stateRunning
}

func (s *Progress) executors() string {
	text := fmt.Sprintf("%d of %s", s.Executors.Running, withNoun(s.Executors.Requested, "executor"))
	if s.Executors.Failed > 0 {
		text += fmt.Sprintf(" (%d failed)", s.Executors.Failed)
	}
	return text
}

func (s *Progress) tasks() string {
	set := s.current()
	text := fmt.Sprintf("%d/%d", set.Done, set.Total)
	if set.Name != "tasks" {
		text = set.Name + " " + text
	}
	if set.Running > 0 {
		text += fmt.Sprintf(", %d running", set.Running)
	}
	if set.Failed > 0 {
		text += ", " + withNoun(set.Failed, "failed attempt")
	}
	return text
}

// display shows an application's progress: on a terminal as a line that is redrawn,
// otherwise as a line for each change, at a limited rate.
type display struct {
	console *Console
	began   time.Time // when the application was submitted
	now     func() time.Time

	state      string // of the application, as last shown
	latest     *Progress
	registered int    // running executors, as last shown
	failed     int    // failed executors, as last shown
	tasks      string // as last shown
	tasksAt    time.Time
	notes      []string // as last shown
}

// taskLinePause is the minimum time between two lines about tasks.
const taskLinePause = 5 * time.Second

// line prints a line that begins with the time since the submission.
func (p *display) line(format string, args ...any) {
	p.console.Print("%7s  %s", Seconds(p.now().Sub(p.began)), fmt.Sprintf(format, args...))
}

// showState shows a new state of the application.
func (p *display) showState(state, note string) {
	p.state = state
	if note != "" {
		note = "  " + note
	}
	p.line("%s%s", state, note)
}

// reset discards the progress that an earlier ApplicationMaster reported.
func (p *display) reset() {
	p.latest, p.registered, p.failed, p.tasks, p.notes = nil, 0, 0, "", nil
}

func (p *display) update(s *Progress) {
	p.latest = s
	// Executors stop at the end of an application: do not show a lower count.
	if e := s.Executors; e.Running > p.registered || e.Failed > p.failed {
		if e.Running >= e.Requested || e.Failed > p.failed || !p.console.isLive() {
			p.line("%s", s.executors())
		}
		p.registered, p.failed = max(p.registered, e.Running), e.Failed
	}
	for _, note := range s.Notes {
		if !slices.Contains(p.notes, note) {
			p.line("%s", note)
		}
	}
	p.notes = s.Notes
	if text := s.tasks(); s.Tasks.Total > 0 && text != p.tasks && !p.console.isLive() {
		if p.now().Sub(p.tasksAt) >= taskLinePause {
			p.line("%s", text)
			p.tasks, p.tasksAt = text, p.now()
		}
	}
}

// columnGap is the text between two columns.
const columnGap = "  "

func (p *display) redraw() {
	if !p.console.isLive() || p.state == "" {
		return
	}
	parts := []string{fmt.Sprintf("%7s  %s", Seconds(p.now().Sub(p.began)), p.state)}
	if s := p.latest; s != nil {
		if s.Executors.Requested > 0 {
			parts = append(parts, s.executors())
		}
		if set := s.current(); set.Total > 0 {
			tasks := s.tasks()
			// The bar is as wide as the rest of the line allows.
			room := p.console.width() - 1 - utf8.RuneCountInString(strings.Join(append(parts, "[]", tasks), columnGap))
			parts = append(parts, bar(set.Done, set.Total, min(max(room, 5), 30)), tasks)
		}
	}
	p.console.SetLive(strings.Join(parts, columnGap))
}

package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Progress is how far an application is, as its ApplicationMaster tells at
// api/status below its tracking URL. What it does not tell stays zero.
type Progress struct {
	State     string         `json:"state"`
	Executors ExecutorCounts `json:"executors"`
	// Failures are the executors that have ended, by reason.
	Failures []FailureCount `json:"failures"`
	// Exclusions are the hosts on which no executor is wanted.
	Exclusions []Exclusion `json:"exclusions"`
	// Notes are what somebody should look at: why no executor comes, why a job waits.
	Notes    []string   `json:"notes,omitempty"`
	Tasks    TaskCounts `json:"tasks"`
	TaskSets []TaskSet  `json:"taskSets"`
	// Details are the executors, those that are lost as well.
	Details []ExecutorDetail `json:"executorDetails,omitempty"`
}

// ExecutorDetail is one executor, as the driver knows it.
type ExecutorDetail struct {
	ID            string `json:"id"`
	Host          string `json:"host"`
	State         string `json:"state"`
	Cores         int    `json:"cores"`
	Running       int    `json:"running"` // tasks
	Done          int    `json:"done"`
	Failed        int    `json:"failed"` // attempts
	ResidentBytes uint64 `json:"residentBytes"`
	Reason        string `json:"reason,omitempty"` // why a lost one was lost
}

// TaskCounts counts tasks, and attempts that failed.
type TaskCounts struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Running int `json:"running"`
	Failed  int `json:"failed"`
}

// TaskSet is one of the sets of tasks that the application ran or runs.
type TaskSet struct {
	ID          uint64 `json:"id,omitempty"` // of its job
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

// current is the task set that is being worked on, else all tasks.
func (s *Progress) current() TaskSet {
	for _, set := range s.TaskSets {
		if set.Done < set.Total {
			return set
		}
	}
	return TaskSet{Name: "tasks", TaskCounts: s.Tasks}
}

// idle tells that the tasks known so far are done, so that the application may
// end any moment.
func (s *Progress) idle() bool {
	return s.Tasks.Total > 0 && s.Tasks.Done >= s.Tasks.Total || s.State != "" && s.State != stateRunning
}

func (s *Progress) executors() string {
	text := fmt.Sprintf("%d of %s", s.Executors.Running, counted(s.Executors.Requested, "executor"))
	if s.Executors.Failed > 0 {
		text += fmt.Sprintf(" (%d failed)", s.Executors.Failed)
	}
	return text
}

// tasks is how far the work is, in words.
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
		text += ", " + counted(set.Failed, "failed attempt")
	}
	return text
}

// display shows what becomes of an application: on a terminal in one live
// line, elsewhere by a line when something changed, but not too many.
type display struct {
	console *Console
	began   time.Time // when the application was submitted
	now     func() time.Time

	state   string // of the application, as last shown
	latest  *Progress
	joined  int    // executors, as last shown
	failed  int    // executors, as last shown
	tasks   string // as last shown
	tasksAt time.Time
	notes   []string // as last shown
}

// taskLinePause is the least time between two plain lines about tasks.
const taskLinePause = 5 * time.Second

// line writes a line with the time since the submission.
func (p *display) line(format string, args ...any) {
	p.console.Print("%7s  %s", Seconds(p.now().Sub(p.began)), fmt.Sprintf(format, args...))
}

// enter shows a new state of the application.
func (p *display) enter(state, note string) {
	p.state = state
	if note != "" {
		note = "  " + note
	}
	p.line("%s%s", state, note)
}

// restart forgets what an ApplicationMaster said that is no more.
func (p *display) restart() {
	p.latest, p.joined, p.failed, p.tasks, p.notes = nil, 0, 0, "", nil
}

// update shows what the ApplicationMaster says.
func (p *display) update(s *Progress) {
	p.latest = s
	// Executors that leave are no news: they do so at the end.
	if e := s.Executors; e.Running > p.joined || e.Failed > p.failed {
		if e.Running >= e.Requested || e.Failed > p.failed || !p.console.isLive() {
			p.line("%s", s.executors())
		}
		p.joined, p.failed = max(p.joined, e.Running), e.Failed
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

// gap parts what stands on the live line.
const gap = "  "

// tick redraws the live line.
func (p *display) tick() {
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
			// The words matter more than the bar, which takes what they leave.
			room := p.console.width() - 1 - utf8.RuneCountInString(strings.Join(append(parts, "[]", tasks), gap))
			parts = append(parts, bar(set.Done, set.Total, min(max(room, 5), 30)), tasks)
		}
	}
	p.console.SetLive(strings.Join(parts, gap))
}

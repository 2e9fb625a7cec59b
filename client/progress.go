package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// status is what an ApplicationMaster tells of itself at api/status below its
// tracking URL. Fields that are not there stay zero.
type status struct {
	State     string `json:"state"`
	Executors struct {
		Requested int `json:"requested"`
		Running   int `json:"running"`
		Failed    int `json:"failed"`
	} `json:"executors"`
	Tasks    counts    `json:"tasks"`
	TaskSets []taskSet `json:"taskSets"`
}

type counts struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Running int `json:"running"`
	Failed  int `json:"failed"`
}

type taskSet struct {
	Name string `json:"name"`
	counts
}

func parseStatus(body []byte) (*status, error) {
	parsed := &status{}
	if err := json.Unmarshal(body, parsed); err != nil {
		return nil, fmt.Errorf("the ApplicationMaster's status: %w", err)
	}
	return parsed, nil
}

// current is the task set that is being worked on, else all tasks.
func (s *status) current() taskSet {
	for _, set := range s.TaskSets {
		if set.Done < set.Total {
			return set
		}
	}
	return taskSet{Name: "tasks", counts: s.Tasks}
}

// idle tells that the tasks known so far are done, so that the application may
// end any moment.
func (s *status) idle() bool {
	return s.Tasks.Total > 0 && s.Tasks.Done >= s.Tasks.Total || s.State != "" && s.State != stateRunning
}

func (s *status) executors() string {
	text := fmt.Sprintf("%d of %s", s.Executors.Running, counted(s.Executors.Requested, "executor"))
	if s.Executors.Failed > 0 {
		text += fmt.Sprintf(" (%d failed)", s.Executors.Failed)
	}
	return text
}

// tasks is how far the work is, in words.
func (s *status) tasks() string {
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

// progress shows what becomes of an application: on a terminal in one live
// line, elsewhere by a line when something changed, but not too many.
type progress struct {
	console *Console
	began   time.Time // when the application was submitted
	now     func() time.Time

	state   string // of the application, as last shown
	status  *status
	joined  int    // executors, as last shown
	failed  int    // executors, as last shown
	tasks   string // as last shown
	tasksAt time.Time
}

// taskLinePause is the least time between two plain lines about tasks.
const taskLinePause = 5 * time.Second

// line writes a line with the time since the submission.
func (p *progress) line(format string, args ...any) {
	p.console.Print("%7s  %s", seconds(p.now().Sub(p.began)), fmt.Sprintf(format, args...))
}

// enter shows a new state of the application.
func (p *progress) enter(state, note string) {
	p.state = state
	if note != "" {
		note = "  " + note
	}
	p.line("%s%s", state, note)
}

// restart forgets what an ApplicationMaster said that is no more.
func (p *progress) restart() {
	p.status, p.joined, p.failed, p.tasks = nil, 0, 0, ""
}

// update shows what the ApplicationMaster says.
func (p *progress) update(s *status) {
	p.status = s
	// Executors that leave are no news: they do so at the end.
	if e := s.Executors; e.Running > p.joined || e.Failed > p.failed {
		if e.Running >= e.Requested || e.Failed > p.failed || !p.console.isLive() {
			p.line("%s", s.executors())
		}
		p.joined, p.failed = max(p.joined, e.Running), e.Failed
	}
	if text := s.tasks(); s.Tasks.Total > 0 && text != p.tasks && !p.console.isLive() {
		if p.now().Sub(p.tasksAt) >= taskLinePause {
			p.line("%s", text)
			p.tasks, p.tasksAt = text, p.now()
		}
	}
}

// tick redraws the live line.
func (p *progress) tick() {
	if !p.console.isLive() || p.state == "" {
		return
	}
	parts := []string{fmt.Sprintf("%7s  %s", seconds(p.now().Sub(p.began)), p.state)}
	if s := p.status; s != nil {
		if s.Executors.Requested > 0 {
			parts = append(parts, s.executors())
		}
		if set := s.current(); set.Total > 0 {
			const width = 30
			parts = append(parts, bar(set.Done, set.Total, width), s.tasks())
		}
	}
	p.console.setLive(strings.Join(parts, "  "))
}

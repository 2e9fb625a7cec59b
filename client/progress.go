package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/events"
)

// Progress is the progress that an ApplicationMaster reports at the path api/status below its
// tracking URL. Fields that are not reported are zero.
type Progress struct {
	State     string         `json:"state"`
	Executors ExecutorCounts `json:"executors"`
	Failures  []FailureCount `json:"failures"`
	// Exclusions are the hosts on which no executors are started.
	Exclusions []Exclusion `json:"exclusions"`
	// Notes are messages for users, for example why no executor starts.
	Notes    []string   `json:"notes,omitempty"`
	Tasks    TaskCounts `json:"tasks"`
	TaskSets []TaskSet  `json:"taskSets"`
	// Slowest are the running task attempts with the longest run times.
	Slowest []driver.SlowTask `json:"slowest,omitempty"`
	// Details are the executors, including lost ones.
	Details []ExecutorDetail `json:"executorDetails,omitempty"`
}

// ExecutorDetail is the state of one executor as the driver sees it.
type ExecutorDetail struct {
	ID            string `json:"id"`
	Host          string `json:"host"`
	State         string `json:"state"`
	Cores         int    `json:"cores"`
	Running       int    `json:"running"` // number of running tasks
	Done          int    `json:"done"`
	Failed        int    `json:"failed"` // number of failed task attempts
	ResidentBytes uint64 `json:"residentBytes"`
	Reason        string `json:"reason,omitempty"` // reason why the executor was lost; "" if it was not
}

// TaskCounts are the numbers of tasks in all task sets. Failed is the number of failed attempts.
type TaskCounts struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Running int `json:"running"`
	Failed  int `json:"failed"`
}

// TaskSet is a running or ended task set.
type TaskSet struct {
	ID          uint64 `json:"id,omitempty"` // id of the task set
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Group       string `json:"group,omitempty"`
	Pool        string `json:"pool,omitempty"`
	// Stage is the position of the task set in a job with several task sets; nil if the task set is
	// a whole job.
	Stage      *driver.StageInJob `json:"stage,omitempty"`
	State      string             `json:"state,omitempty"`
	WaitReason string             `json:"waits,omitempty"` // why no task of the task set is launched, if the reason may last until a user acts; otherwise ""
	TaskCounts
}

// hasEnded reports whether the task set has ended: all tasks have succeeded, or the task set has
// failed or was cancelled.
func (s *TaskSet) hasEnded() bool {
	return s.Done >= s.Total || s.State != "" && s.State != driver.JobStateRunning
}

func parseStatus(body []byte) (*Progress, error) {
	parsed := &Progress{}
	if err := json.Unmarshal(body, parsed); err != nil {
		return nil, fmt.Errorf("the ApplicationMaster's status: %w", err)
	}
	return parsed, nil
}

// current returns the counts of the first unfinished job, or the totals if all jobs have ended. For
// a job with stages, the counts are sums over its unfinished stages.
func (s *Progress) current() TaskSet {
	for i, set := range s.TaskSets {
		switch {
		case set.hasEnded():
		case set.Stage != nil:
			return joinStages(s.TaskSets[i:])
		default:
			return set
		}
	}
	return TaskSet{Name: "tasks", TaskCounts: s.Tasks}
}

// joinStages combines the unfinished task sets that belong to the same job as sets[0] into one task
// set. Its task counts are sums, and its name is like "sort, stages 1 and 2 of 3:".
func joinStages(sets []TaskSet) TaskSet {
	first, sum := sets[0].Stage, TaskSet{}
	var numbers []int
	for _, set := range sets {
		if set.hasEnded() || set.Stage == nil || set.Stage.Job != first.Job || set.Stage.Name != first.Name {
			continue
		}
		numbers = append(numbers, set.Stage.Number)
		sum.Total += set.Total
		sum.Done += set.Done
		sum.Running += set.Running
		sum.Failed += set.Failed
	}
	slices.Sort(numbers)
	var words strings.Builder
	for i, number := range slices.Compact(numbers) {
		if i > 0 {
			words.WriteString(" and ")
		}
		fmt.Fprint(&words, number)
	}
	noun := "stage"
	if strings.Contains(words.String(), " ") {
		noun = "stages"
	}
	sum.Name = fmt.Sprintf("%s, %s %s of %d:", first.Name, noun, &words, first.Of)
	return sum
}

// isIdle reports whether the application may end soon, because all known tasks have succeeded or
// the driver has stopped.
func (s *Progress) isIdle() bool {
	return s.Tasks.Total > 0 && s.Tasks.Done >= s.Tasks.Total || s.State != "" && s.State != stateRunning
}

// runsTasks reports whether a job has not ended.
func (s *Progress) runsTasks() bool {
	set := s.current()
	return set.Done < set.Total
}

// whyNone returns why the application has no executor; "" if it has one or requests none.
func (c *ExecutorCounts) whyNone() string {
	switch {
	case c.Requested == 0 || c.Running > 0:
		return ""
	case c.Launching > 0:
		return "containers are starting"
	case c.Pending > 0:
		return "the cluster has given no container yet"
	default:
		return "none has registered yet"
	}
}

// describeSlowTask describes a running task attempt.
func describeSlowTask(t driver.SlowTask) string {
	text := fmt.Sprintf("task %d of %s runs for %s on %s (executor %s)", t.Task, oneLine(t.Name), Seconds(millis(t.RunMillis)), t.Host, t.Executor)
	if t.MeanMillis > 0 {
		text += "; the mean is " + Seconds(millis(t.MeanMillis))
	}
	return text
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

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

// progressDisplay shows an application's progress. On a terminal, it redraws a live line. Otherwise
// it prints a line for each change, at a limited rate.
type progressDisplay struct {
	console *Console
	began   time.Time // time of the application's submission
	now     func() time.Time

	state      string // latest shown state of the application
	latest     *Progress
	registered int    // latest shown number of running executors
	failed     int    // latest shown number of failed executors
	tasks      string // latest shown text about tasks
	tasksAt    time.Time
	notes      []string // latest shown notes
	waits      string   // latest shown reason why there is no executor
	waitsSince time.Time
	slow       map[slowTask]bool // slow tasks that were shown
	slowAt     time.Time
}

// slowTask identifies a task attempt.
type slowTask struct {
	set          uint64
	task, number uint32
}

// taskLinePause is the minimum time between two lines about the number of tasks, and between two
// lines about slow tasks.
const taskLinePause = 5 * time.Second

// line prints a line that begins with the time since the submission.
func (p *progressDisplay) line(format string, args ...any) {
	p.console.Print("%7s  %s", Seconds(p.now().Sub(p.began)), fmt.Sprintf(format, args...))
}

// showState shows a new state of the application.
func (p *progressDisplay) showState(state, note string) {
	p.state = state
	if note != "" {
		note = "  " + note
	}
	p.line("%s%s", state, note)
}

// reset discards the progress that an earlier ApplicationMaster reported.
func (p *progressDisplay) reset() {
	p.latest, p.registered, p.failed, p.tasks, p.notes, p.waits, p.slow = nil, 0, 0, "", nil, "", nil
	p.waitsSince, p.slowAt = time.Time{}, time.Time{}
}

func (p *progressDisplay) update(s *Progress) {
	p.latest = s
	// Executors stop when an application ends, so do not show a lower number.
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
	p.showWait(s.Executors.whyNone())
	p.showSlow(s.Slowest)
	if text := s.tasks(); s.Tasks.Total > 0 && text != p.tasks && !p.console.isLive() {
		if p.now().Sub(p.tasksAt) >= taskLinePause {
			p.line("%s", text)
			p.tasks, p.tasksAt = text, p.now()
		}
	}
}

// showWait shows the reason why there is no executor, if it lasts for waitReasonDelay.
func (p *progressDisplay) showWait(why string) {
	switch {
	case why == "":
		p.waits, p.waitsSince = "", time.Time{}
	case p.waitsSince.IsZero():
		p.waitsSince = p.now()
	case why != p.waits && p.now().Sub(p.waitsSince) >= waitReasonDelay:
		p.waits = why
		p.line("waiting for executors: %s", why)
	}
}

// showSlow prints a line about a task attempt that runs much longer than the mean. It prints at
// most one such line every taskLinePause, and at most one line for each attempt.
func (p *progressDisplay) showSlow(slowest []driver.SlowTask) {
	for _, t := range slowest {
		key := slowTask{t.Set, t.Task, t.Number}
		if p.slow[key] || p.now().Sub(p.slowAt) < taskLinePause || !events.IsStraggling(millis(t.RunMillis), millis(t.MeanMillis)) {
			continue
		}
		if p.slow == nil {
			p.slow = map[slowTask]bool{}
		}
		p.slow[key], p.slowAt = true, p.now()
		p.line("slow: %s", describeSlowTask(t))
	}
}

// columnGap is the text between two columns.
const columnGap = "  "

func (p *progressDisplay) redraw() {
	if !p.console.isLive() || p.state == "" {
		return
	}
	if p.console.shared && (p.latest == nil || !p.latest.runsTasks()) {
		p.console.SetLive("") // the driver function may print now
		return
	}
	p.console.SetLive(p.liveLine(p.console.width() - 1))
}

const (
	minBar = 5
	maxBar = 30
)

// liveLine returns the live line for a terminal with this number of columns. If there is not enough
// room, liveLine omits first the executors, then also the state, and finally also the bar.
func (p *progressDisplay) liveLine(columns int) string {
	elapsed := fmt.Sprintf("%7s", Seconds(p.now().Sub(p.began)))
	parts := []string{elapsed, p.state}
	s := p.latest
	if s == nil {
		return strings.Join(parts, columnGap)
	}
	if s.Executors.Requested > 0 {
		parts = append(parts, s.executors())
	}
	set := s.current()
	if set.Total == 0 {
		return strings.Join(parts, columnGap)
	}
	tasks := s.tasks()
	for ; len(parts) > 0; parts = parts[:len(parts)-1] {
		rest := strings.Join(append(slices.Clip(parts), "[]", tasks), columnGap)
		if room := columns - utf8.RuneCountInString(rest); room >= minBar {
			return strings.Join(append(parts, bar(set.Done, set.Total, min(room, maxBar)), tasks), columnGap)
		}
	}
	return elapsed + columnGap + tasks
}

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/process"
	"github.com/bobbin-yarn/bobbin/streaming"
)

// Plan is a job that runs commands. A step may depend on other steps, which must pass first. All
// tasks of a step run the same command. The creator of a Plan must ensure that step names are
// unique and that the dependencies have no cycle.
type Plan struct {
	// Name is the name of the job in messages and in the JUnit file.
	Name string `json:"name,omitempty"`
	// Timeout limits the run time of the job after the driver has started; 0 means no limit.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Steps are in the order of the job file. If there is only one step, its name may be "".
	Steps []Step `json:"steps"`
	// Results is the URI of the directory for results; "" for no results. The results of an
	// application, which are task outcomes and collected files, are in a subdirectory with the
	// application's id as name.
	Results string `json:"results,omitempty"`
	// Detached is nil if the submitter waits for the application to end.
	Detached *DetachedPlan `json:"detached,omitempty"`
	// MaxFailures is the value of task.maxFailures. It limits how often a task may be lost with its
	// executor before its step fails.
	MaxFailures int `json:"maxFailures"`
	// Limits are the limits for the collected files of each task.
	Limits Limits `json:"limits"`
	// Links are the symbolic links that each task's working directory gets.
	Links process.Links `json:"links,omitzero"`
}

// Limits are limits for the collected files of one task; 0 means no limit.
type Limits struct {
	Files int   `json:"files,omitempty"` // maximum number of files
	Bytes int64 `json:"bytes,omitempty"` // maximum total size in bytes
}

// Step is one command and the tasks that run it, or a streaming job. A streaming job has the
// outcome of a single task.
type Step struct {
	Name  string   `json:"name,omitempty"`
	Needs []string `json:"needs,omitempty"` // names of the steps that must pass before this step starts
	// Command is the program and its arguments. [Step.Expand] replaces placeholders in Command, in
	// the values of Environment, in WorkingDirectory and in Collect by the values of each task.
	Command []string `json:"command,omitempty"`
	// Stream is the streaming job that the step runs instead of Command; nil for none.
	Stream      *streaming.Job    `json:"stream,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	// OwnDirectory gives each task attempt a new working directory. Otherwise tasks use the working
	// directory of the executor.
	OwnDirectory bool `json:"ownDirectory,omitempty"`
	// WorkingDirectory is an absolute path, or a path relative to the task's directory.
	WorkingDirectory string `json:"workingDirectory,omitempty"`
	// Retries is the maximum number of retries of a failed command. task.maxFailures, not Retries,
	// limits retries after the loss of an executor.
	Retries     int           `json:"retries,omitempty"`
	TaskTimeout time.Duration `json:"taskTimeout,omitempty"` // maximum duration of one attempt; 0 means no limit
	Timeout     time.Duration `json:"timeout,omitempty"`     // maximum duration of the step; 0 means no limit
	// FailFast stops the step when the last attempt of any task has failed. Otherwise the step runs
	// all its tasks.
	FailFast bool `json:"failFast,omitempty"`
	// If AllowFailure is set and this step fails, the steps that depend on it start all the same,
	// and the application does not fail.
	AllowFailure bool          `json:"allowFailure,omitempty"`
	CPUs         int           `json:"cpus,omitempty"` // cores for each task; 0 means task.cpus
	Collect      []CollectRule `json:"collect,omitempty"`
	Tasks        Tasks         `json:"tasks"`
}

// Tasks are the tasks of a step. If no task has values, the JSON encoding is only the number of
// tasks, because a plan may be an argument on a command line and must be short.
type Tasks []Task

// MarshalJSON encodes the tasks, or only their number if no task has values.
func (t Tasks) MarshalJSON() ([]byte, error) {
	if slices.ContainsFunc(t, func(task Task) bool { return len(task.Values) > 0 }) {
		return json.Marshal([]Task(t))
	}
	return json.Marshal(len(t))
}

// UnmarshalJSON decodes either encoding of MarshalJSON.
func (t *Tasks) UnmarshalJSON(encoded []byte) error {
	var count int
	if err := json.Unmarshal(encoded, &count); err != nil {
		return json.Unmarshal(encoded, (*[]Task)(t))
	}
	if count < 0 {
		return fmt.Errorf("%d tasks", count)
	}
	*t = make(Tasks, count)
	return nil
}

// CollectRule selects files in a task's working directory that are copied to the submitter's
// machine.
type CollectRule struct {
	// Pattern is a glob pattern for paths in the working directory; ** matches any number of
	// directories.
	Pattern string `json:"pattern"`
	// Directory is the target directory on the submitter's machine. It may contain placeholders.
	Directory string `json:"directory"`
}

// Task is one task of a step.
type Task struct {
	// Values distinguish the task from other tasks of its step. If the step's tasks come from a
	// list of items, each task has one value, and its name is [Item].
	Values []Value `json:"values,omitempty"`
}

// Value is a named value of a task. See [Step.Expand].
type Value struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Item is the name of the only value of a task that comes from a list of items.
const Item = "item"

// Label returns the task's values as text; "" if the task has no values.
func (t Task) Label() string {
	texts := make([]string, len(t.Values))
	for i, value := range t.Values {
		texts[i] = value.Text
	}
	return strings.Join(texts, ", ")
}

// Expand replaces the placeholders {index}, {tasks}, {step}, and those with the names of the task's
// values, such as {item}. If attempt is not negative, Expand also replaces {attempt}.
func (s *Step) Expand(text string, task Task, index, tasks, attempt int) string {
	if !strings.ContainsRune(text, '{') {
		return text
	}
	pairs := make([]string, 0, 8+2*len(task.Values))
	pairs = append(pairs, "{index}", strconv.Itoa(index), "{tasks}", strconv.Itoa(tasks), "{step}", s.Name)
	if attempt >= 0 {
		pairs = append(pairs, "{attempt}", strconv.Itoa(attempt))
	}
	for _, value := range task.Values {
		pairs = append(pairs, "{"+value.Name+"}", value.Text)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Target returns the directory on the submitter's machine for the files that collect selects from
// the task with this index.
func (s *Step) Target(collect CollectRule, index int) string {
	return s.Expand(collect.Directory, s.Tasks[index].withPathSafeValues(), index, len(s.Tasks), -1)
}

// withPathSafeValues returns a copy of the task for use in paths: each value is changed so that it
// is a single path element.
func (t Task) withPathSafeValues() Task {
	values := make([]Value, len(t.Values))
	for i, value := range t.Values {
		text := strings.Map(func(r rune) rune {
			if r == '/' || r == '\\' || r < ' ' {
				return '_'
			}
			return r
		}, value.Text)
		if text == "" || text == "." || text == ".." {
			text = "_" + text
		}
		values[i] = Value{Name: value.Name, Text: text}
	}
	return Task{Values: values}
}

// Variable returns the name of the environment variable that contains one of a task's values. The
// parameter is the name of the value.
func Variable(value string) string {
	if value == Item {
		return "TASK_ITEM"
	}
	return "MATRIX_" + strings.ToUpper(value)
}

// ReadPlan reads a plan that [Plan.Write] has written. If remove is true, ReadPlan also removes the
// file. In a container, remove is not needed, because the NodeManager removes the file.
func ReadPlan(path string, remove bool) (*Plan, error) {
	encoded, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the plan of the job: %w", err)
	}
	if remove {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("the plan of the job: %w", err)
		}
	}
	return DecodePlan(encoded)
}

// DecodePlan decodes a plan from JSON and checks it.
func DecodePlan(encoded []byte) (*Plan, error) {
	plan := &Plan{}
	if err := json.Unmarshal(encoded, plan); err != nil {
		return nil, fmt.Errorf("the plan of the job: %w: was it written by another version of yarn-submit?", err)
	}
	return plan, plan.check()
}

// Write writes the plan to a file for [ReadPlan]. Only the owner can read the file, because the
// plan's environment variables may contain secrets.
func (p *Plan) Write(path string) error {
	encoded, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(path, encoded, 0o600)
}

// check returns an error for a plan for which the engine would wait forever or fail with an unclear
// error.
func (p *Plan) check() error {
	if len(p.Steps) == 0 {
		return errors.New("command: nothing to run: no step")
	}
	known := map[string]bool{}
	for _, step := range p.Steps {
		if step.Stream == nil && len(step.Command) == 0 || len(step.Tasks) == 0 {
			return errors.New("command: nothing to run: a command and at least one task are needed")
		}
		if known[step.Name] {
			return fmt.Errorf("command: two steps are called %q", step.Name)
		}
		known[step.Name] = true
	}
	for _, step := range p.Steps {
		for _, need := range step.Needs {
			if !known[need] {
				return fmt.Errorf("command: step %q needs %q, which is no step", step.Name, need)
			}
		}
	}
	return nil
}

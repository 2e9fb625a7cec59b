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

// Plan is a job of commands. A step may need other steps to pass first. All tasks of
// a step run the same command. The creator ensures that step names are unique and
// needs have no cycle.
type Plan struct {
	// Name is the job's name in messages and in the JUnit file.
	Name string `json:"name,omitempty"`
	// Timeout bounds the job, from the start of the driver; 0 means no limit.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Steps are in the order of the job file. A single step's name may be "".
	Steps []Step `json:"steps"`
	// Results is the URI of a directory for task outcomes and collected files, in a
	// subdirectory named by the application's id; "" for none.
	Results string `json:"results,omitempty"`
	// Detached is nil if the submitter follows the application to its end.
	Detached *DetachedPlan `json:"detached,omitempty"`
	// MaxFailures is task.maxFailures: how often a task may be lost with its executor
	// before its step fails.
	MaxFailures int `json:"maxFailures"`
	// Limits bound the files collected from each task.
	Limits Limits `json:"limits"`
	// Links says which symbolic links tasks' directories get.
	Links process.Links `json:"links,omitzero"`
}

// Limits bound the files collected from one task; 0 means no limit.
type Limits struct {
	Files int   `json:"files,omitempty"` // number of files
	Bytes int64 `json:"bytes,omitempty"` // total size in bytes
}

// Step is one command and the tasks that run it, or a streaming job. A streaming job has
// the outcome of a single task.
type Step struct {
	Name  string   `json:"name,omitempty"`
	Needs []string `json:"needs,omitempty"` // names of the steps that must pass before this one starts
	// Command is the program and its arguments. [Step.Expand] replaces placeholders in
	// Command, Environment's values, WorkingDirectory and Collect by values of the
	// task.
	Command []string `json:"command,omitempty"`
	// Stream, if not nil, is the streaming job that the step runs instead of a command.
	Stream      *streaming.Job    `json:"stream,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	// OwnDirectory gives each task attempt a new directory instead of the executor's.
	OwnDirectory bool `json:"ownDirectory,omitempty"`
	// WorkingDirectory is an absolute path, or relative to the task's directory.
	WorkingDirectory string `json:"workingDirectory,omitempty"`
	// Retries is how often a failed command is retried. Losses of a task with its
	// executor count for task.maxFailures instead.
	Retries     int           `json:"retries,omitempty"`
	TaskTimeout time.Duration `json:"taskTimeout,omitempty"` // maximum duration of one attempt; 0 means no limit
	Timeout     time.Duration `json:"timeout,omitempty"`     // maximum duration of the step; 0 means no limit
	// FailFast is set if the step stops when the last attempt of any task has failed. Otherwise
	// all its tasks run.
	FailFast bool `json:"failFast,omitempty"`
	// AllowFailure is set if a failure of this step does not fail the application, and
	// lets the steps that need it start.
	AllowFailure bool          `json:"allowFailure,omitempty"`
	CPUs         int           `json:"cpus,omitempty"` // cores for each task; 0 means task.cpus
	Collect      []CollectRule `json:"collect,omitempty"`
	Tasks        Tasks         `json:"tasks"`
}

// Tasks are the tasks of a step. In JSON they are only a number if they have no values,
// because a plan may be passed on a command line and must be short.
type Tasks []Task

// MarshalJSON encodes the tasks, or their number if no task has values.
func (t Tasks) MarshalJSON() ([]byte, error) {
	if slices.ContainsFunc(t, func(task Task) bool { return len(task.Values) > 0 }) {
		return json.Marshal([]Task(t))
	}
	return json.Marshal(len(t))
}

// UnmarshalJSON decodes the result of MarshalJSON.
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

// CollectRule selects files in a task's working directory to copy to the submitter's machine.
type CollectRule struct {
	// Pattern matches paths in the working directory; ** matches any number of directories.
	Pattern string `json:"pattern"`
	// Directory is the target on the submitter's machine, perhaps with placeholders.
	Directory string `json:"directory"`
}

// Task is one task of a step.
type Task struct {
	// Values distinguish the task from the step's others. In a list of items, the only
	// value is named [Item].
	Values []Value `json:"values,omitempty"`
}

// Value is a named value of a task.
type Value struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Item is the name of a task's value if the step's tasks are a list of items.
const Item = "item"

// Label returns the task's values as text; "" if it has none.
func (t Task) Label() string {
	texts := make([]string, len(t.Values))
	for i, value := range t.Values {
		texts[i] = value.Text
	}
	return strings.Join(texts, ", ")
}

// Expand replaces placeholders in text: {index}, {tasks}, {step}, and those named after the
// task's values. If attempt is not negative, it also replaces {attempt}.
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

// Target returns the directory on the submitter's machine for the files that a task collects.
func (s *Step) Target(collect CollectRule, index int) string {
	return s.Expand(collect.Directory, s.Tasks[index].inPaths(), index, len(s.Tasks), -1)
}

// inPaths returns a copy of the task for use in paths: each value is changed so that it is
// one path element.
func (t Task) inPaths() Task {
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

// Variable returns the environment variable for the task value of this name.
func Variable(value string) string {
	if value == Item {
		return "TASK_ITEM"
	}
	return "MATRIX_" + strings.ToUpper(value)
}

// ReadPlan reads a plan that [Plan.Write] has written. If remove is true, it then removes
// the file. A plan in a container need not be removed, because the NodeManager does that.
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

// Write writes the plan for [ReadPlan]. Only the owner can read it, since
// environments may contain secrets.
func (p *Plan) Write(path string) error {
	encoded, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(path, encoded, 0o600)
}

// check fails if the engine would wait forever for a step or fail with an unclear error.
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

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
)

// Plan is the work of an application of commands: steps that depend on one
// another, each with tasks that run the same command. The caller that builds a
// plan makes sure that step names are unique and that no step depends on itself.
type Plan struct {
	// Name appears in messages and in the summary.
	Name string `json:"name,omitempty"`
	// Timeout limits the whole job, from the start of the driver; 0 means no limit.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Steps are in the order of the job file. A plan's only step may have no name.
	Steps []Step `json:"steps"`
	// Results is the URI of the directory in which the application creates a
	// directory named after its id, for task outcomes and collected files; "" if
	// neither is wanted.
	Results string `json:"results,omitempty"`
	// Detached is nil if the submitter follows the application to its end.
	Detached *Detached `json:"detached,omitempty"`
	// MaxFailures is task.maxFailures: how many times a task may be lost with its
	// executor before its step fails.
	MaxFailures int `json:"maxFailures"`
	// Limits bound the files that each task returns.
	Limits Limits `json:"limits"`
	// Local is true if tasks run on the submitter's machine. Each task's directory
	// then has Links; on a cluster it has links to the files that the node localized
	// for the container.
	Local bool   `json:"local,omitempty"`
	Links []Link `json:"links,omitempty"`
}

// Limits bound the files that one task returns.
type Limits struct {
	Files int   `json:"files,omitempty"` // number of files
	Bytes int64 `json:"bytes,omitempty"` // total size
}

// Link is a symbolic link in a task's directory to a file or directory of this
// machine.
type Link struct {
	Name string `json:"name"`
	Path string `json:"path"` // absolute
}

// Step is one command and the tasks that run it.
type Step struct {
	Name  string   `json:"name,omitempty"`
	Needs []string `json:"needs,omitempty"` // names of steps that must succeed first
	// Command is the program and its arguments. Placeholders in them, in the
	// values of Environment, in WorkingDirectory and in Collect are replaced by
	// the task's values; see [Step.Expand].
	Command     []string          `json:"command"`
	Environment map[string]string `json:"environment,omitempty"`
	// OwnDirectory makes each attempt of a task run in a new directory instead of the
	// executor's working directory.
	OwnDirectory bool `json:"ownDirectory,omitempty"`
	// WorkingDirectory is relative to the task's directory, or an absolute path.
	WorkingDirectory string `json:"workingDirectory,omitempty"`
	// Retries is how many times a failed command is run again. Tasks that are lost
	// with their executor do not count: task.maxFailures limits those.
	Retries     int           `json:"retries,omitempty"`
	TaskTimeout time.Duration `json:"taskTimeout,omitempty"` // of one attempt; 0 means no limit
	Timeout     time.Duration `json:"timeout,omitempty"`     // of the step; 0 means no limit
	// FailFast ends the step when the first task has failed its last attempt;
	// otherwise the other tasks run to their ends.
	FailFast bool `json:"failFast,omitempty"`
	// AllowFailure lets dependent steps run and the application succeed even if
	// this step fails.
	AllowFailure bool      `json:"allowFailure,omitempty"`
	CPUs         int       `json:"cpus,omitempty"` // of each task; 0 means task.cpus
	Collect      []Collect `json:"collect,omitempty"`
	Tasks        Tasks     `json:"tasks"`
}

// Tasks are the tasks of a step. If no task has values, their JSON is just their
// number, since a plan may be passed on a command line.
type Tasks []Task

// MarshalJSON encodes the tasks, or their number if no task has values.
func (t Tasks) MarshalJSON() ([]byte, error) {
	if slices.ContainsFunc(t, func(task Task) bool { return len(task.Values) > 0 }) {
		return json.Marshal([]Task(t))
	}
	return json.Marshal(len(t))
}

// UnmarshalJSON decodes the output of MarshalJSON.
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

// Collect selects files in a task's working directory to copy to the submitter.
type Collect struct {
	// Pattern matches paths relative to the working directory; ** matches any
	// number of directories.
	Pattern string `json:"pattern"`
	// Directory is on the submitter's machine; it may contain placeholders.
	Directory string `json:"directory"`
}

// Task is one input of a step.
type Task struct {
	// Values distinguish the task from the other tasks of its step, in order. The
	// value of a list's task is named [Item].
	Values []Value `json:"values,omitempty"`
}

// Value is one named value of a task.
type Value struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Item is the name of the value if a step's tasks are a list.
const Item = "item"

// Label returns the task's values as text; "" if it has none.
func (t Task) Label() string {
	texts := make([]string, len(t.Values))
	for i, value := range t.Values {
		texts[i] = value.Text
	}
	return strings.Join(texts, ", ")
}

// Expand replaces the placeholders {index}, {tasks}, {step}, {attempt} and those
// named after the task's values. {attempt} is kept if attempt is negative.
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

// Target returns the directory on the submitter's machine for the files of one
// task that match the pattern of collect.
func (s *Step) Target(collect Collect, index int) string {
	return s.Expand(collect.Directory, s.Tasks[index].inPaths(), index, len(s.Tasks), -1)
}

// inPaths returns the task with each value changed to be a single path element.
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

// Variable returns the name of the environment variable for a task's value.
func Variable(value string) string {
	if value == Item {
		return "TASK_ITEM"
	}
	return "MATRIX_" + strings.ToUpper(value)
}

// ReadPlan reads a plan written by [Plan.Write], and removes the file if remove is
// set. A container's copy is removed by its node.
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

// DecodePlan decodes and checks a plan's JSON.
func DecodePlan(encoded []byte) (*Plan, error) {
	plan := &Plan{}
	if err := json.Unmarshal(encoded, plan); err != nil {
		return nil, fmt.Errorf("the plan of the job: %w: was it written by another version of yarn-submit?", err)
	}
	return plan, plan.check()
}

// Write writes the plan for [ReadPlan]. Only the owner can read the file, since
// environments may contain secrets.
func (p *Plan) Write(path string) error {
	encoded, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(path, encoded, 0o600)
}

// check rejects plans that would make the engine wait forever or fail obscurely.
func (p *Plan) check() error {
	if len(p.Steps) == 0 {
		return errors.New("command: nothing to run: no step")
	}
	known := map[string]bool{}
	for _, step := range p.Steps {
		if len(step.Command) == 0 || len(step.Tasks) == 0 {
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

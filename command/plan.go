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

// Plan is what an application of commands is to do: steps that wait for one
// another, each of tasks that run the same command. Who makes one has checked
// it: names are unique, and no step waits for itself.
type Plan struct {
	// Name is for messages and the summary.
	Name string `json:"name,omitempty"`
	// Timeout bounds the whole, from the driver's start; 0 for no limit.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Steps are in the order in which they were written. The only step of a plan
	// may have no name.
	Steps []Step `json:"steps"`
	// Results is the URI of a directory below which the application puts, under
	// its id, what its tasks came to and the files that they are to bring back;
	// "" where nobody wants either.
	Results string `json:"results,omitempty"`
	// Later is nil where the submitter stays to the end.
	Later *Later `json:"later,omitempty"`
	// MaxFailures is how often a task may be lost with its executor before its step
	// fails: task.maxFailures.
	MaxFailures int `json:"maxFailures"`
	// Limits bound what comes back.
	Limits Limits `json:"limits"`
	// Here tells that tasks run on the submitter's machine. Links then are what
	// lies in each task's directory, in the place of what the node of a cluster puts
	// into the container's.
	Here  bool   `json:"here,omitempty"`
	Links []Link `json:"links,omitempty"`
}

// Limits bound what one task brings back.
type Limits struct {
	Files int   `json:"files,omitempty"` // how many
	Bytes int64 `json:"bytes,omitempty"` // together
}

// Link is a file or directory of this machine, under a name in a task's directory.
type Link struct {
	Name string `json:"name"`
	Path string `json:"path"` // absolute
}

// Step is one command, run by some tasks.
type Step struct {
	Name  string   `json:"name,omitempty"`
	Needs []string `json:"needs,omitempty"` // names of steps that must have succeeded before
	// Command is the program and its arguments; placeholders in them, and in the
	// values of Environment, in WorkingDirectory and in Collect, stand for what
	// the task is (see [Task.Values]).
	Command     []string          `json:"command"`
	Environment map[string]string `json:"environment,omitempty"`
	// OwnDirectory has each try of a task run in a new directory. Where it is off
	// they run where the executor does.
	OwnDirectory bool `json:"ownDirectory,omitempty"`
	// WorkingDirectory is below the task's directory, or an absolute path.
	WorkingDirectory string `json:"workingDirectory,omitempty"`
	// Retries is how often a command that failed is run again. A task that is
	// lost with its executor is run again as task.maxFailures says, whatever this is.
	Retries     int           `json:"retries,omitempty"`
	TaskTimeout time.Duration `json:"taskTimeout,omitempty"` // of one try; 0 for no limit
	Timeout     time.Duration `json:"timeout,omitempty"`     // of the step; 0 for no limit
	// FailFast ends the step with the first task that fails for good; otherwise
	// the others run to their ends.
	FailFast bool `json:"failFast,omitempty"`
	// AllowFailure has the steps behind it run, and the application succeed, where
	// this one fails.
	AllowFailure bool      `json:"allowFailure,omitempty"`
	CPUs         int       `json:"cpus,omitempty"` // of each task; 0 is as task.cpus says
	Collect      []Collect `json:"collect,omitempty"`
	Tasks        Tasks     `json:"tasks"`
}

// Tasks are a step's. In JSON those of which none has values are their number: a
// plan of many stands on a command line.
type Tasks []Task

// MarshalJSON writes the tasks or their number.
func (t Tasks) MarshalJSON() ([]byte, error) {
	if slices.ContainsFunc(t, func(one Task) bool { return len(one.Values) > 0 }) {
		return json.Marshal([]Task(t))
	}
	return json.Marshal(len(t))
}

// UnmarshalJSON reads what MarshalJSON writes.
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

// Collect has files come back that a task leaves in its working directory.
type Collect struct {
	// Pattern is one of paths below the working directory; ** is any number of
	// directories.
	Pattern string `json:"pattern"`
	// Directory is the submitter's, with placeholders for what sets the tasks apart.
	Directory string `json:"directory"`
}

// Task is one input of a step.
type Task struct {
	// Values are the names and values that set it apart from the other tasks of
	// its step, in order: the only one of a list is called item.
	Values []Value `json:"values,omitempty"`
}

// Value is one of a task's values.
type Value struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Item is the name of the value of tasks that are a list.
const Item = "item"

// Label tells a task's values, "" for one that has none.
func (t Task) Label() string {
	texts := make([]string, len(t.Values))
	for i, value := range t.Values {
		texts[i] = value.Text
	}
	return strings.Join(texts, ", ")
}

// Expand puts a task's values in place of placeholders. {attempt} stays where
// attempt is below 0.
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

// Target is the submitter's directory for the files of one task that match one
// of the step's patterns.
func (s *Step) Target(collect Collect, index int) string {
	return s.Expand(collect.Directory, s.Tasks[index].inPaths(), index, len(s.Tasks), -1)
}

// inPaths is the task with values that are one element of a path each.
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

// Variable is the name in a task's environment of one of its values.
func Variable(value string) string {
	if value == Item {
		return "TASK_ITEM"
	}
	return "MATRIX_" + strings.ToUpper(value)
}

// ReadPlan reads a plan that was written with [Plan.Write], and removes the file
// where it is no file of a container.
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

// DecodePlan reads a plan's JSON.
func DecodePlan(encoded []byte) (*Plan, error) {
	plan := &Plan{}
	if err := json.Unmarshal(encoded, plan); err != nil {
		return nil, fmt.Errorf("the plan of the job: %w: was it written by another version of yarn-submit?", err)
	}
	return plan, plan.check()
}

// Write writes the plan for [ReadPlan], for its owner alone: environments hold
// secrets.
func (p *Plan) Write(path string) error {
	encoded, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(path, encoded, 0o600)
}

// check finds what would have the engine wait for ever or fail in odd ways.
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

// Package moments controls a run of the program dataflow. It makes tasks wait at moments, which
// are named points in the tasks' work, and reads which moments tasks have reached.
package moments

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin"
)

// Control is the path of the program's control directory, through whose files package moments
// and the program communicate.
type Control string

// Event says that the task with an index has reached a moment, in the executor process PID.
type Event struct {
	Moment     string
	Index, PID int
}

func (c Control) held(moment string) string { return filepath.Join(string(c), "hold."+moment) }

// Hold makes tasks wait when they reach one of moments: all tasks for a name such as "mapped",
// the task with index 3 for "mapped.3".
func (c Control) Hold(moments ...string) error {
	for _, moment := range moments {
		if err := os.WriteFile(c.held(moment), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Release undoes Hold for moments, or for all moments if none is given: the tasks that wait there
// continue.
func (c Control) Release(moments ...string) error {
	var held []string
	var err error
	if len(moments) == 0 {
		held, err = filepath.Glob(c.held("*"))
	}
	for _, moment := range moments {
		held = append(held, c.held(moment))
	}
	for _, path := range held {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// Events returns one Event for each task that has reached a moment.
func (c Control) Events(moment string) (events []Event, err error) {
	paths, err := filepath.Glob(filepath.Join(string(c), moment+".*.*.*"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		fields := strings.Split(filepath.Base(path), ".")
		index, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, err
		}
		pid, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, err
		}
		events = append(events, Event{fields[0], index, pid})
	}
	return events, nil
}

// TaskSets returns the task sets that the driver has submitted so far.
func (c Control) TaskSets() (sets []bobbin.Job, err error) {
	status, err := os.ReadFile(filepath.Join(string(c), "status"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(status, &sets)
	return sets, err
}

// MapSets returns the task sets of the stages that write the shuffles of an operator, or of all
// operators if operator is "".
func (c Control) MapSets(operator string) ([]bobbin.Job, error) {
	sets, err := c.TaskSets()
	return slices.DeleteFunc(sets, func(set bobbin.Job) bool {
		return !strings.Contains(set.Name, " for "+operator) || strings.Contains(set.Name, "sampled")
	}), err
}

// HandedOver reports whether an executor has handed over data because it leaves, and no executor
// is still handing over data.
func (c Control) HandedOver() (bool, error) {
	sets, err := c.TaskSets()
	handovers := 0
	for _, set := range sets {
		if strings.HasPrefix(set.Name, "data of executor ") {
			handovers++
			if set.Done < set.Tasks {
				return false, err
			}
		}
	}
	return handovers > 0, err
}

// Times returns the number of events for each index.
func Times(events []Event) map[int]int {
	count := map[int]int{}
	for _, e := range events {
		count[e.Index]++
	}
	return count
}

// IndexesOf returns the indexes of the events of a process, sorted.
func IndexesOf(events []Event, pid int) (indexes []int) {
	for _, e := range events {
		if e.PID == pid {
			indexes = append(indexes, e.Index)
		}
	}
	slices.Sort(indexes)
	return indexes
}

// Busiest returns the process with the most events.
func Busiest(events []Event) (pid int) {
	count := map[int]int{}
	for _, e := range events {
		if count[e.PID]++; count[e.PID] > count[pid] {
			pid = e.PID
		}
	}
	return pid
}

// Package moments controls a run of the test program dataflow. A moment is a named point in a
// task's work, such as "mapped". The package makes tasks wait at moments, and returns the
// moments that tasks have reached.
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

// Control is the path of a directory through whose files this package and the program
// communicate.
type Control string

// Event records that the task with the given index has reached a moment in the executor process
// PID.
type Event struct {
	Moment     string
	Index, PID int
}

func (c Control) held(moment string) string { return filepath.Join(string(c), "hold."+moment) }

// Hold makes tasks wait when they reach one of the given moments. A name such as "mapped" holds
// all tasks at this moment; "mapped.3" holds only the task with index 3.
func (c Control) Hold(moments ...string) error {
	for _, moment := range moments {
		if err := os.WriteFile(c.held(moment), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Release cancels Hold for the given moments, or for all moments if none is given. The tasks
// that wait at these moments continue.
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

// Events returns an Event for each task attempt that has reached the moment.
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

// TaskSets returns the task sets that the driver has submitted so far, with their current
// state.
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

// Counters returns the counters that the driver has written at its end, by name: "generated" is
// the number of records that map tasks have generated, and "seen" the number of elements that
// result tasks have received.
func (c Control) Counters() (counters map[string]int64, err error) {
	content, err := os.ReadFile(filepath.Join(string(c), "counters"))
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(content, &counters)
	return counters, err
}

// MapSets returns the task sets that write the shuffle of an operator, such as "Group". If
// operator is "", it returns those of all operators.
func (c Control) MapSets(operator string) ([]bobbin.Job, error) {
	sets, err := c.TaskSets()
	return slices.DeleteFunc(sets, func(set bobbin.Job) bool {
		return !strings.Contains(set.Name, " for "+operator) || strings.Contains(set.Name, "sampled")
	}), err
}

// HandedOver reports whether executors that stop have moved data to other executors, and all
// these moves are complete.
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

// Times returns the number of events for each task index.
func Times(events []Event) map[int]int {
	count := map[int]int{}
	for _, e := range events {
		count[e.Index]++
	}
	return count
}

// IndexesOf returns the sorted task indexes of the events in the process pid.
func IndexesOf(events []Event, pid int) (indexes []int) {
	for _, e := range events {
		if e.PID == pid {
			indexes = append(indexes, e.Index)
		}
	}
	slices.Sort(indexes)
	return indexes
}

// Busiest returns the id of the process with the most events.
func Busiest(events []Event) (pid int) {
	count := map[int]int{}
	for _, e := range events {
		if count[e.PID]++; count[e.PID] > count[pid] {
			pid = e.PID
		}
	}
	return pid
}

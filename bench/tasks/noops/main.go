// Command noops runs tasks that do nothing: task sets of many tasks, to measure the number of
// tasks per second, and task sets of one task, to measure the time until the result. It writes
// the results as JSON to a local file of the driver's machine.
//
//	noops FILE TASKS SECONDS ROUND-TRIPS
//
// TASKS is the number of tasks in a large task set. Large task sets run for at least SECONDS.
// ROUND-TRIPS is the number of task sets of one task.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/bench/figures"
)

const (
	warmUpSets  = 3 // task sets that run before the measured ones
	warmUpTrips = 200
)

var noop = bobbin.Func("noop", func(_ *bobbin.Task, input int) (int, error) { return input, nil })

// noopFigures is the content of FILE.
type noopFigures struct {
	TasksPerSecond  float64
	RoundTripMillis float64 // median time of a task set of one task
}

func main() { bobbin.Main(run) }

func run(ctx context.Context) error {
	if len(os.Args) != 5 {
		return errors.New("usage: noops FILE TASKS SECONDS ROUND-TRIPS")
	}
	var numbers [3]int
	for i, argument := range os.Args[2:] {
		n, err := strconv.Atoi(argument)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a positive number", argument)
		}
		numbers[i] = n
	}
	tasks, sustained, trips := numbers[0], time.Duration(numbers[1])*time.Second, numbers[2]
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()

	var result noopFigures
	if result.TasksPerSecond, err = throughput(ctx, session, tasks, sustained); err != nil {
		return err
	}
	if result.RoundTripMillis, err = roundTrip(ctx, session, trips); err != nil {
		return err
	}
	content, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return os.WriteFile(os.Args[1], content, 0o644)
}

// throughput returns the number of tasks per second. It runs task sets one after the other for
// at least the duration sustained.
func throughput(ctx context.Context, session *bobbin.Session, tasks int, sustained time.Duration) (float64, error) {
	inputs := make([]int, tasks)
	for i := range inputs {
		inputs[i] = i
	}
	for range warmUpSets {
		if _, err := noop.Run(ctx, session, inputs); err != nil {
			return 0, err
		}
	}
	began, sets := time.Now(), 0
	for time.Since(began) < sustained {
		results, err := noop.Run(ctx, session, inputs)
		if err != nil {
			return 0, err
		}
		for i, result := range results {
			if result != inputs[i] {
				return 0, fmt.Errorf("task %d returned %d", i, result)
			}
		}
		sets++
	}
	return float64(sets*tasks) / time.Since(began).Seconds(), nil
}

// roundTrip returns the median time of a task set of one task, in milliseconds.
func roundTrip(ctx context.Context, session *bobbin.Session, trips int) (float64, error) {
	times := make([]float64, 0, trips)
	for i := range warmUpTrips + trips {
		began := time.Now()
		if _, err := noop.Run(ctx, session, []int{i}); err != nil {
			return 0, err
		}
		if i >= warmUpTrips {
			times = append(times, float64(time.Since(began).Nanoseconds())/1e6)
		}
	}
	return figures.Median(times), nil
}

package scheduler_test

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/scheduler"
)

// The owner reports ends of attempts to the scheduler, acts on the events that the scheduler
// returns, and launches attempts.
func Example() {
	s := scheduler.New(scheduler.Config{LocalityWaitNode: 3 * time.Second})
	now := time.Unix(0, 0)
	offer := func() (running []scheduler.Launch) {
		launches, _ := s.Offer(now)
		for _, l := range launches {
			fmt.Printf("launch task %d on executor %s, %s\n", l.Index, l.Executor, l.Locality)
			running = append(running, l)
		}
		return running
	}

	for _, e := range []scheduler.Executor{{ID: "1", Host: "left", Cores: 1}, {ID: "2", Host: "right", Cores: 1}} {
		if err := s.AddExecutor(e); err != nil {
			fmt.Println(err)
		}
	}
	blocks := [][]string{{"left"}, {"left"}}
	err := s.Submit(scheduler.TaskSet{
		ID: 1, Name: "count", Tasks: len(blocks),
		Preferences: func(index int) scheduler.Preferences { return scheduler.Preferences{Hosts: blocks[index]} },
	})
	if err != nil {
		fmt.Println(err)
	}

	running := offer()
	if deadline, ok := s.NextDeadline(); ok {
		fmt.Println("wait", deadline.Sub(now))
		now = deadline
	}
	running = append(running, offer()...)
	for _, l := range running {
		for _, event := range s.Finished(l.Attempt, scheduler.Outcome{Result: scheduler.ResultSucceeded}) {
			switch event := event.(type) {
			case scheduler.TaskDone:
				fmt.Println("task", event.Index, "is done")
			case scheduler.TaskSetDone:
				fmt.Println("task set", event.TaskSet, "is done")
			}
		}
	}
	// Output:
	// launch task 0 on executor 1, node-local
	// wait 3s
	// launch task 1 on executor 2, any
	// task 0 is done
	// task 1 is done
	// task set 1 is done
}

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/bobbin-yarn/bobbin"
)

// envTasks is the environment variable with the number of tasks.
const envTasks = "BENCH_ALLOCATOR_TASKS"

// replicas is the number of hosts that each task prefers. It is HDFS's default replication.
const replicas = 3

var nothing = bobbin.Func("nothing", func(*bobbin.Task, int) (int, error) { return 0, nil })

// runMaster runs an application whose tasks wait until they are killed, because no executor
// registers.
func runMaster() {
	bobbin.Main(func(ctx context.Context) error {
		tasks, err := strconv.Atoi(os.Getenv(envTasks))
		if err != nil {
			return fmt.Errorf("%s: %w", envTasks, err)
		}
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		_, err = nothing.Run(ctx, session, make([]int, tasks), bobbin.Hosts(func(task int) []string {
			// Nodes with consecutive numbers are in different racks, so each task prefers three
			// racks.
			hosts := make([]string, replicas)
			for i := range hosts {
				hosts[i] = host((task*replicas + i) % nodes)
			}
			return hosts
		}))
		return err
	})
}

package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
)

func newProfile(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "profile application-id",
		Short: "Take a profile of a running application for go tool pprof",
		Long: `Take a profile of a running application's executors: of the 20 that run most
tasks, merged, of those that run a job's tasks with --job, of one with
--executor, or of the driver's process with --driver.
The samples have the labels executor and task_set, for pprof's -tagfocus.

Users who may view the application may profile it.`,
		Example: "  yarn-submit profile application_1700000000000_0001 --seconds 30\n" +
			"  yarn-submit profile application_1700000000000_0001 --type heap --executor 3 -o heap.gz",
		Args: exactArgs("application-id"),
	}
	var o client.ProfileOptions
	flags := c.Flags()
	flags.StringVar(&o.Executor, "executor", "", "`ID`: only this executor")
	flags.Uint64Var(&o.Job, "job", 0, "`N`: only executors that run tasks of this job, by its number on the pages")
	flags.BoolVar(&o.Driver, "driver", false, "the driver's process instead of executors")
	flags.StringVar(&o.Type, "type", profiling.CPU, "`TYPE`: cpu, heap, goroutine, mutex or block; cpu if not given")
	seconds := flags.Int("seconds", 10, "`N`: over how many seconds, 1 to 30, for cpu, mutex and block; 10 if not given")
	file := flags.StringP("output", "o", "", "`FILE`: where to write it (default: ID.TYPE.pb.gz)")
	onCluster(t, c, func(c *cobra.Command, args []string, cluster clusterClient) error {
		o.Duration = time.Duration(*seconds) * time.Second
		if err := profiling.Request(o).Check(); err != nil {
			return client.UsageError(err)
		}
		if *file == "" {
			*file = args[0] + "." + o.Type + ".pb.gz"
		}
		if profiling.HasDuration(o.Type) {
			t.console.SetLive(fmt.Sprintf("profiling for %v", o.Duration))
		}
		encoded, err := cluster.Profile(c.Context(), args[0], o)
		if err != nil {
			return err
		}
		comments, err := profiling.Comments(encoded)
		if err != nil {
			return client.FailedError(fmt.Errorf("the profile that the application sent: %w", err))
		}
		if err := os.WriteFile(*file, encoded, 0o644); err != nil {
			return client.FailedError(err)
		}
		t.console.Print("wrote %s: %s; read it with go tool pprof", *file, strings.Join(comments, ", "))
		return nil
	})
	return c
}

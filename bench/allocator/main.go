// Command allocator measures how long an ApplicationMaster needs, and how much CPU time, to
// request and start many containers: from its registration until a NodeManager runs the last
// container. Each task prefers three hosts. So whenever containers are allocated, the
// ApplicationMaster changes its allocation requests for hosts, racks and any host.
//
// The ApplicationMaster runs in its own process. The cluster is simulated in this process: a
// ResourceManager and 2,000 NodeManagers, each with its own loopback address, serve Hadoop's
// protocols. Containers start no process, so no executor registers with the driver.
//
// Usage, from the module's root:
//
//	go run ./bench/allocator [-runs 3]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/bobbin-yarn/bobbin/bench/figures"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

func main() {
	if os.Getenv(launch.EnvRole) != "" {
		runMaster()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench allocator:", err)
		os.Exit(1)
	}
}

// The benchmark measures both numbers of containers. The figure "growth" is the ratio of their
// CPU times per container.
const (
	fewContainers  = 100
	manyContainers = 10_000
)

// cost is the time that was needed for all containers.
type cost struct {
	seconds    float64 // from the registration until the last container runs
	cpuSeconds float64 // CPU time of the ApplicationMaster's process in this period
}

func measure(ctx context.Context) error {
	runs := flag.Int("runs", 3, "how often each number is measured; the figures are medians")
	verbose := flag.Bool("v", false, "shows what the ApplicationMaster logs")
	flag.Parse()
	if *runs < 1 || flag.NArg() > 0 {
		return errors.New("want at least 1 run and no arguments")
	}
	perContainer := map[int]float64{} // CPU seconds per container, by number of containers
	var seconds float64
	for _, containers := range []int{fewContainers, manyContainers} {
		var wall, cpu []float64
		for range *runs {
			measured, err := allocate(ctx, containers, *verbose)
			if err != nil {
				return fmt.Errorf("%d containers: %w", containers, err)
			}
			fmt.Fprintf(os.Stderr, "%d containers: %.2f s, %.2f s of CPU\n", containers, measured.seconds, measured.cpuSeconds)
			wall, cpu = append(wall, measured.seconds), append(cpu, measured.cpuSeconds)
		}
		seconds, perContainer[containers] = figures.Median(wall), figures.Median(cpu)/float64(containers)
	}
	return figures.Print(os.Stdout,
		figures.Figure{Name: fmt.Sprintf("allocator/seconds/%d", manyContainers), Value: seconds, Unit: "s"},
		figures.Figure{Name: fmt.Sprintf("allocator/cpu-seconds/%d", manyContainers), Value: perContainer[manyContainers] * manyContainers, Unit: "s"},
		figures.Figure{Name: "allocator/growth", Value: perContainer[manyContainers] / perContainer[fewContainers]},
	)
}

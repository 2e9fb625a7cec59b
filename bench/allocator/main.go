// Command allocator measures what it costs an ApplicationMaster to get and
// launch many containers: from its registration until a NodeManager runs the
// last one, with tasks waiting that prefer three hosts each, so that containers
// are asked for by host, by rack and anywhere, and asked for anew as they come.
//
// The ApplicationMaster is a whole one, in a process of its own. The cluster is
// simulated, in this process: a ResourceManager and 2,000 NodeManagers that
// speak Hadoop's protocols with it over loopback, each with a port of its own.
// The executors do not run, so none of them registers with the driver.
//
// Usage, from the module's root:
//
//	go run ./bench/allocator [-containers 100,1000,10000] [-nodes 2000] [-runs 3]
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
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

// cost is what containers cost an ApplicationMaster.
type cost struct {
	seconds    float64 // until the last one ran
	cpuSeconds float64 // of the process, meanwhile
	rssMB      float64 // of the process at the end
}

func measure(ctx context.Context) error {
	list := flag.String("containers", "100,1000,10000", "how many containers, `N,N,…`; the last is compared with the first")
	nodes := flag.Int("nodes", 2000, "how many NodeManagers")
	runs := flag.Int("runs", 3, "how often each number is measured; the figures are medians")
	verbose := flag.Bool("v", false, "shows what the ApplicationMaster logs")
	flag.Parse()
	counts, err := parseCounts(*list)
	if err != nil {
		return err
	}
	if *nodes < 1 || *nodes > maxNodes || *runs < 1 || flag.NArg() > 0 {
		return fmt.Errorf("want 1 to %d nodes, at least 1 run and no arguments", maxNodes)
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	var perContainer []float64
	for _, containers := range counts {
		var all []cost
		for range *runs {
			one, err := allocate(ctx, *nodes, containers, *verbose)
			if err != nil {
				return fmt.Errorf("%d containers: %w", containers, err)
			}
			logger.Info("measured", "containers", containers, "seconds", one.seconds, "cpuSeconds", one.cpuSeconds, "rssMB", one.rssMB)
			all = append(all, one)
		}
		middle := cost{
			seconds:    median(all, func(c cost) float64 { return c.seconds }),
			cpuSeconds: median(all, func(c cost) float64 { return c.cpuSeconds }),
			rssMB:      median(all, func(c cost) float64 { return c.rssMB }),
		}
		perContainer = append(perContainer, middle.cpuSeconds/float64(containers))
		suffix := "/" + strconv.Itoa(containers)
		if err := figures.Print(os.Stdout,
			figures.Figure{Name: "allocator/seconds" + suffix, Value: middle.seconds, Unit: "s"},
			figures.Figure{Name: "allocator/cpu-seconds" + suffix, Value: middle.cpuSeconds, Unit: "s"},
			figures.Figure{Name: "allocator/rss-mb" + suffix, Value: middle.rssMB, Unit: "MB"},
		); err != nil {
			return err
		}
	}
	growth := perContainer[len(perContainer)-1] / perContainer[0]
	return figures.Print(os.Stdout, figures.Figure{Name: "allocator/growth", Value: growth})
}

func median(costs []cost, of func(cost) float64) float64 {
	values := make([]float64, len(costs))
	for i, c := range costs {
		values[i] = of(c)
	}
	return figures.Median(values)
}

// parseCounts reads numbers, the smallest first.
func parseCounts(list string) ([]int, error) {
	var counts []int
	for text := range strings.SplitSeq(list, ",") {
		count, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || count < 1 {
			return nil, fmt.Errorf("-containers %q: want numbers of at least 1, as 100,1000,10000", list)
		}
		counts = append(counts, count)
	}
	slices.SortFunc(counts, cmp.Compare[int])
	return counts, nil
}

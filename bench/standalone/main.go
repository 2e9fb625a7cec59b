// Command standalone measures a standalone master with many workers and
// applications: how long it takes until all applications have all of their
// executors, what a worker's heartbeat costs, and how much memory it takes.
//
// The master is a process of its own, yarn-submit as it was built, with its
// state in a file. The workers are simulated: each has a stream of its own over
// TLS and gRPC on loopback, and does all that a worker does but start
// processes. The applications are those of drivers (standalone/application),
// without tasks.
//
// Usage, from the module's root, after make build:
//
//	go run ./bench/standalone [-workers 500] [-cores 4] [-applications 50] [-quiet 10s] [-program bin/yarn-submit]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/bench/figures"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench standalone:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context) error {
	r := round{}
	flag.IntVar(&r.workers, "workers", 500, "how many workers")
	flag.IntVar(&r.cores, "cores", 4, "cores of each worker; the applications' executors take one each, and all of them together")
	flag.IntVar(&r.applications, "applications", 50, "how many applications")
	flag.DurationVar(&r.quiet, "quiet", 10*time.Second, "for how long heartbeats are counted while nothing else happens")
	flag.StringVar(&r.program, "program", "bin/yarn-submit", "the `file` of yarn-submit, which runs the master")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("%q: there are no arguments, only flags", flag.Args())
	}
	for name, value := range map[string]int{"workers": r.workers, "cores": r.cores, "applications": r.applications} {
		if value < 1 {
			return fmt.Errorf("-%s %d: want at least 1", name, value)
		}
	}
	measured, err := r.run(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d workers attached in %.2f s; %d applications had %d executors in %.2f s; %d heartbeats in %v\n",
		r.workers, measured.attaching.Seconds(), r.applications, measured.executors, measured.scheduling.Seconds(), measured.heartbeats, r.quiet)
	return figures.Print(os.Stdout,
		figures.Figure{Name: "standalone/seconds-to-all-scheduled", Value: measured.scheduling.Seconds(), Unit: "s"},
		figures.Figure{Name: "standalone/cpu-us-per-heartbeat", Value: measured.heartbeatMicros, Unit: "us"},
		figures.Figure{Name: "standalone/rss-mb", Value: measured.residentMB, Unit: "MB"},
	)
}

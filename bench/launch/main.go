// Command launch measures the time from the start of yarn-submit until both executors have
// registered, and the memory of the idle ApplicationMaster and executors.
//
// For comparison it measures a floor, the time that YARN itself needs to start a container:
// from the submission of an application by REST, whose ApplicationMaster is a shell command,
// until the command runs. The benchmark compares bobbin's time with twice the floor, because two
// containers start one after the other: the ApplicationMaster's, and then those of the
// executors. It measures the floor and bobbin alternately on one cluster, which it starts.
//
// Usage, from the module's root, after make build:
//
//	go run ./bench/launch [-runs 10]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/bench/figures"
	"github.com/bobbin-yarn/bobbin/bench/testbed"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

const (
	executors  = 2
	runTimeout = 2 * time.Minute
)

func main() {
	runs := flag.Int("runs", 10, "how often each is measured")
	submit := flag.String("submit", "bin/yarn-submit", "the yarn-submit to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *runs, *submit); err != nil {
		fmt.Fprintln(os.Stderr, "bench launch:", err)
		os.Exit(1)
	}
}

type bench struct {
	submit  string // path of yarn-submit
	program string // path of the program bench/idle
	confDir string // directory of Hadoop's configuration
	rest    *yarnrest.Client
}

func run(ctx context.Context, runs int, submit string) (err error) {
	if runs < 1 {
		return fmt.Errorf("-runs %d: want at least 1", runs)
	}
	dir, err := os.MkdirTemp("", "bobbin-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := testbed.Build(ctx, dir, "./bench/idle")
	if err != nil {
		return err
	}
	return testbed.Use(ctx, dir, nil, func(hadoop *testbed.Testbed) error {
		b := &bench{submit: submit, program: program, confDir: hadoop.ConfDir, rest: hadoop.REST}
		return b.measureInTurn(ctx, runs)
	})
}

// heartbeat is the default heartbeat interval of NodeManagers, on which the wait for a
// container depends.
const heartbeat = time.Second

// waitRandomly waits for a random part of the heartbeat interval, so that the next submission is
// at a random time between two heartbeats, as a user's submission is. Without this wait, each run
// would start just after a heartbeat, because the previous run ended at a heartbeat.
func waitRandomly(ctx context.Context) error {
	select {
	case <-time.After(rand.N(heartbeat)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// measureInTurn measures the minimum that the cluster needs (the floor) and bobbin's launch
// alternately, and prints the figures. It ignores the first measurements, in which JVMs are cold
// and the program is uploaded.
func (b *bench) measureInTurn(ctx context.Context, runs int) error {
	var floors, launches, memory []float64
	for i := range runs + 1 {
		if err := waitRandomly(ctx); err != nil {
			return err
		}
		hop, err := b.measureMinimum(ctx)
		if err != nil {
			return fmt.Errorf("floor: %w", err)
		}
		if err := waitRandomly(ctx); err != nil {
			return err
		}
		launched, err := b.measureLaunch(ctx)
		if err != nil {
			return fmt.Errorf("bobbin: %w", err)
		}
		fmt.Fprintf(os.Stderr, "run %2d: floor %.2f s, bobbin %.2f s, %.1f MB\n", i, 2*hop.Seconds(), launched.took.Seconds(), launched.megabytes)
		if i == 0 {
			continue
		}
		floors = append(floors, 2*hop.Seconds())
		launches = append(launches, launched.took.Seconds())
		memory = append(memory, launched.megabytes)
	}
	floor, launch := figures.Median(floors), figures.Median(launches)
	return figures.Print(os.Stdout,
		figures.Figure{Name: "launch/seconds", Value: launch, Unit: "s"},
		figures.Figure{Name: "launch/floor-seconds", Value: floor, Unit: "s"},
		figures.Figure{Name: "launch/over-floor", Value: launch / floor},
		figures.Figure{Name: "launch/rss-mb", Value: figures.Median(memory), Unit: "MB"},
	)
}

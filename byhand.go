package bobbin

import (
	"context"
	"log/slog"
	"os"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/interrupt"
	"github.com/bobbin-yarn/bobbin/internal/logging"
)

// runByHand runs the driver in this process, with its executors where the
// master says.
func runByHand(run func(ctx context.Context) error) int {
	settings, err := handedSettings()
	if err != nil {
		return complain(err, exitUsage)
	}
	if config.Master.In(settings) == masterYARN && config.ClientMode(settings) {
		return runClientMode(settings, run)
	}
	logger := logging.New(os.Stderr, settings)
	slog.SetDefault(logger)
	executors, err := newMaster(settings, logger)
	if err != nil {
		return complain(err, exitUsage)
	}
	ctx, stop := interrupt.Context(exitFailed, func() {})
	defer stop()
	if err := executors.run(ctx, run); err != nil {
		return complain(err, exitStatus(err))
	}
	return 0
}

// RunLocal calls run as Main does for a program started by hand, with a local
// master such as "local[2]", and returns its error: for tests, and for programs
// that are more than a driver.
func RunLocal(ctx context.Context, master string, run func(ctx context.Context) error) error {
	if err := function.Problems(); err != nil {
		return err
	}
	settings, err := config.Default().With(map[string]string{config.Master.Name(): master})
	if err != nil {
		return err
	}
	local, err := newLocal(settings, slog.Default())
	if err != nil {
		return err
	}
	return local.run(ctx, run)
}

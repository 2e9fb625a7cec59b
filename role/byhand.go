package role

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/interrupt"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
)

// runByHand runs the driver in a process that a person, yarn-submit or a standalone worker has
// started. The setting master selects the cluster of the executors.
func runByHand(function func(ctx context.Context) error) error {
	settings, err := settingsFromSubmitter()
	if err != nil {
		return client.UsageError(err)
	}
	master, err := masterurl.FromSettings(settings, masterurl.LocalURL)
	if err != nil {
		return client.UsageError(err)
	}
	if master.Kind == masterurl.YARN && config.ClientMode(settings) {
		return runClientMode(settings, function)
	}
	t, exiting := logOnly(logging.New(os.Stderr, settings)), func() {}
	slog.SetDefault(t.logger)
	if os.Getenv(launch.EnvDriverID) == "" { // no worker started this process as a driver
		t = newTerminal(settings)
		exiting = t.console.Close
		slog.SetDefault(logging.New(t.console, settings)) // the program's own log messages appear above the progress line
	}
	ctx, stop := interrupt.Context(client.ExitFailed, exiting)
	defer stop()
	switch master.Kind {
	case masterurl.Standalone:
		return runStandalone(ctx, master, settings, t, function)
	case masterurl.LocalCluster:
		return runLocalCluster(ctx, master, settings, t, function)
	case masterurl.Local:
		return runLocal(ctx, master, settings, t, function)
	default:
		return client.UsageError(errors.New("master yarn: submit the program by yarn-submit submit " + os.Args[0] +
			", or set BOBBIN_SUBMIT_DEPLOY_MODE=client to run the driver in this process"))
	}
}

// RunLocal runs a driver function with an executor in this process, and returns the function's
// error. The setting master must be a local master, such as local[2].
func RunLocal(ctx context.Context, settings *config.Config, run func(ctx context.Context) error) error {
	if err := function.Problems(); err != nil {
		return err
	}
	master, err := masterurl.FromSettings(settings, masterurl.LocalURL)
	if err != nil {
		return err
	}
	if master.Kind != masterurl.Local {
		return &masterurl.UnknownError{URL: master.Text}
	}
	return runLocal(ctx, master, settings, logOnly(slog.Default()), run)
}

// settingsFromSubmitter returns the settings that yarn-submit passed to this process. If there are
// none, it reads the settings from the environment and the defaults file.
func settingsFromSubmitter() (*config.Config, error) {
	properties, given, err := valuesFromSubmitter(launch.EnvProperties)
	if err != nil {
		return nil, err
	}
	if !given {
		return config.FromEnvironment(config.Sources{})
	}
	origins, _, err := valuesFromSubmitter(launch.EnvOrigins)
	if err != nil {
		return nil, err
	}
	return config.FromSubmission(properties, origins)
}

// valuesFromSubmitter decodes the map in an environment variable that yarn-submit may have set. It
// removes the variable. given reports whether the variable was set.
func valuesFromSubmitter(variable string) (values map[string]string, given bool, err error) {
	encoded, given := os.LookupEnv(variable)
	if !given {
		return nil, false, nil
	}
	// The program's child processes must not inherit the variable.
	if err := os.Unsetenv(variable); err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal([]byte(encoded), &values); err != nil {
		return nil, false, fmt.Errorf("%s: %w: only yarn-submit may set it", variable, err)
	}
	return values, true, nil
}

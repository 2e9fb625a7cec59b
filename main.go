package bobbin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/interrupt"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// Exit codes of a program that was started by hand. In a container the
// ApplicationMaster and the executors have codes of their own.
const (
	exitFailed = 1
	exitUsage  = 2
)

// Main runs the program in the role that this process was started in, and
// exits: as driver with its own executor when it was started by hand, as
// ApplicationMaster or as executor when YARN started it. It is to be called
// from the program's main function, which should do nothing else that matters
// in every process.
//
// In client mode (BOBBIN_MASTER=yarn BOBBIN_SUBMIT_DEPLOY_MODE=client, or by
// yarn-submit submit --deploy-mode client) the driver runs in this process and
// its executors on the cluster.
//
// run is the driver: it is called once for each attempt of the application,
// and the application succeeds when it returns nil. Its context ends when the
// application is to stop. A program that was started by hand exits with 1 when
// run returns an error, or with what the error's ExitStatus() int says.
func Main(run func(ctx context.Context) error) {
	launch.KeepMarker()
	os.Exit(start(run))
}

func start(run func(ctx context.Context) error) int {
	if err := function.Problems(); err != nil {
		return complain(err, exitUsage)
	}
	switch role := launch.Role(os.Getenv(launch.EnvRole)); role {
	case launch.RoleAM:
		return runAM(run)
	case launch.RoleLauncher:
		return am.Launch(containerLogger)
	case launch.RoleExecutor:
		return runExecutor()
	case "":
		return runByHand(run)
	default:
		return complain(fmt.Errorf("%s=%s: this program knows the roles %q, %q and %q: was it built with another version of bobbin than yarn-submit?",
			launch.EnvRole, role, launch.RoleAM, launch.RoleLauncher, launch.RoleExecutor), exitUsage)
	}
}

// runByHand runs the driver in this process, with its executors in the same
// process or, in client mode, on a cluster.
func runByHand(run func(ctx context.Context) error) int {
	settings, err := handedSettings()
	if err != nil {
		return complain(err, exitUsage)
	}
	if config.Master.In(settings) == "yarn" && config.ClientMode(settings) {
		return runClientMode(settings, run)
	}
	logger := newLogger(os.Stderr, settings)
	slog.SetDefault(logger)
	local, err := newLocal(settings, logger)
	if err != nil {
		return complain(err, exitUsage)
	}
	ctx, stop := interrupt.Context(exitFailed, func() {})
	defer stop()
	if err := local.run(ctx, run); err != nil {
		return complain(err, exitStatus(err))
	}
	return 0
}

// handedSettings are those that yarn-submit handed over, or those of the
// environment.
func handedSettings() (*config.Config, error) {
	encoded, handed := os.LookupEnv(launch.EnvProperties)
	if !handed {
		return config.FromEnvironment()
	}
	// They are not for what the program starts itself.
	if err := os.Unsetenv(launch.EnvProperties); err != nil {
		return nil, err
	}
	properties := map[string]string{}
	if err := json.Unmarshal([]byte(encoded), &properties); err != nil {
		return nil, fmt.Errorf("%s: %w: it is set by yarn-submit alone", launch.EnvProperties, err)
	}
	return config.FromMap(properties)
}

// exitStatus is that of a program whose driver function returned err.
func exitStatus(err error) int {
	var own interface{ ExitStatus() int }
	if errors.As(err, &own) {
		return own.ExitStatus()
	}
	return exitFailed
}

// RunLocal calls run as Main does for a program started by hand, with a master
// such as "local[2]", and returns its error: for tests, and for programs that
// are more than a driver.
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

// call runs the user's function and makes a panic of it an error with its stack.
func call(ctx context.Context, run func(ctx context.Context) error) (err error) {
	returned := false
	defer func() {
		switch value := recover(); {
		case value != nil:
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		case !returned && err == nil:
			err = errors.New("the driver function ended its goroutine (runtime.Goexit) instead of returning")
		}
	}()
	err = run(ctx)
	returned = true
	return err
}

// newLogger writes logs for people to read.
func newLogger(w io.Writer, settings *config.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(config.LogLevel.In(settings))); err != nil {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// complain writes the error so that its first line comes last, where a person
// looks first; what follows it in the error, a stack perhaps, is above.
func complain(err error, code int) int {
	name := filepath.Base(os.Args[0])
	message, details, _ := strings.Cut(strings.TrimRight(err.Error(), "\n"), "\n")
	if details != "" {
		fmt.Fprintln(os.Stderr, details)
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", name, message)
	return code
}

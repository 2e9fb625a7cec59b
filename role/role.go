// Package role determines the role of a process of a bobbin program and runs it:
// driver of a program that was started by hand, with executors on the cluster of its
// master URL; ApplicationMaster, with the driver or without; executor; or a process
// of a local cluster.
//
// Application is the state of a process with a driver. Each role with a driver
// creates an Application with startDriver, and calls the user's driver function with
// Application.run.
package role

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/standalone/localcluster"
)

// Main runs this process in its role, with run as the driver function, and returns
// the exit status.
func Main(run func(ctx context.Context) error) int {
	if err := function.Problems(); err != nil {
		return exit(client.UsageError(err))
	}
	switch role := launch.Role(os.Getenv(launch.EnvRole)); role {
	case launch.RoleAM:
		return am.Main(driverOf(run))
	case launch.RoleLauncher:
		return am.Launch()
	case launch.RoleExecutor:
		return runExecutor()
	case launch.RoleMaster, launch.RoleWorker, launch.RoleGuard:
		return localcluster.Main(role)
	case "":
		return exit(runByHand(run))
	default:
		return exit(client.UsageError(fmt.Errorf("%s=%s: this program does not know the role: was it built with another version of bobbin than yarn-submit?",
			launch.EnvRole, role)))
	}
}

func exit(err error) int {
	if err == nil {
		return client.ExitSuccess
	}
	// The other lines may be a long stack trace: print the first line last.
	message, details, _ := strings.Cut(strings.TrimRight(err.Error(), "\n"), "\n")
	if details != "" {
		fmt.Fprintln(os.Stderr, details)
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", filepath.Base(os.Args[0]), message)
	return exitStatus(err)
}

// exitStatus returns the exit status for a driver function's error: the result of
// its method ExitStatus() int, or else client.ExitCode(err).
func exitStatus(err error) int {
	var own interface{ ExitStatus() int }
	if errors.As(err, &own) {
		return own.ExitStatus()
	}
	return client.ExitCode(err)
}

// Package role decides which role a process of a bobbin program has, and puts
// each role together: the driver of a program that was started by hand, with
// executors on the cluster of its master URL; an ApplicationMaster, with or without
// the driver; an executor; and the processes of a local cluster.
//
// Application is the state of a driver's process. Every role with a driver makes
// one by startDriver, and runs the user's driver function by its run method.
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

// Main runs this process in its role, with run as the driver function, and
// returns the process's exit code.
func Main(run func(ctx context.Context) error) int {
	if err := function.Problems(); err != nil {
		return exit(client.Usage(err))
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
		return exit(client.Usage(fmt.Errorf("%s=%s: this program does not know the role: was it built with another version of bobbin than yarn-submit?",
			launch.EnvRole, role)))
	}
}

// exit prints an error and returns the exit code for it.
func exit(err error) int {
	if err == nil {
		return client.ExitSuccess
	}
	// Print the first line last, below the other lines, which may be a long stack.
	message, details, _ := strings.Cut(strings.TrimRight(err.Error(), "\n"), "\n")
	if details != "" {
		fmt.Fprintln(os.Stderr, details)
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", filepath.Base(os.Args[0]), message)
	return exitStatus(err)
}

// exitStatus returns the result of err's method ExitStatus, which errors of the
// driver function may have, or else client.ExitCode(err).
func exitStatus(err error) int {
	var own interface{ ExitStatus() int }
	if errors.As(err, &own) {
		return own.ExitStatus()
	}
	return client.ExitCode(err)
}

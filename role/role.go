// Package role determines the role of a process of a bobbin program, and runs it. The roles are:
// driver, in a program that a person started or in client mode; ApplicationMaster, with or without
// the driver; executor; and the processes of a local cluster.
//
// Each role with a driver calls startDriver, which returns an Application: the state of the
// process. Application.run calls the user's driver function.
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
	function.Close()
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
	// The remaining lines may be a long stack trace, so print the first line, which has the
	// message, last.
	message, details, _ := strings.Cut(strings.TrimRight(err.Error(), "\n"), "\n")
	if details != "" {
		fmt.Fprintln(os.Stderr, details)
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", filepath.Base(os.Args[0]), message)
	return exitStatus(err)
}

// exitStatus returns the exit status for an error of the driver function: the result of the error's
// method ExitStatus() int, or else client.ExitCode(err).
func exitStatus(err error) int {
	var own interface{ ExitStatus() int }
	if errors.As(err, &own) {
		return own.ExitStatus()
	}
	return client.ExitCode(err)
}

package bobbin

import (
	"context"
	"fmt"
	"os"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/standalone/localcluster"
)

// Main runs the program in the role that this process was started in, and
// exits: as driver with its own executor when it was started by hand, as
// ApplicationMaster or as executor when YARN started it. It is to be called
// from the program's main function, which should do nothing else that matters
// in every process.
//
// In client mode (BOBBIN_MASTER=yarn BOBBIN_SUBMIT_DEPLOY_MODE=client, or by
// yarn-submit submit --deploy-mode client) the driver runs in this process and
// its executors on the cluster. BOBBIN_MASTER=bobbin://host:port has them on a
// standalone cluster, and BOBBIN_MASTER=local-cluster[2,1,1024] on one of two
// workers that ends with the program.
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
	case launch.RoleMaster, launch.RoleWorker, launch.RoleGuard:
		return localcluster.Main(role)
	case "":
		return runByHand(run)
	default:
		return complain(fmt.Errorf("%s=%s: this program does not know the role: was it built with another version of bobbin than yarn-submit?",
			launch.EnvRole, role), exitUsage)
	}
}

package bobbin

import (
	"context"
	"os"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/role"
)

// Main runs this process in its role and exits; it does not return. A program
// started by hand is driver and executor in one process. On YARN, the same program
// is started as the ApplicationMaster and as each executor. Code before the call of
// Main runs in all of these processes.
//
// In client mode (BOBBIN_MASTER=yarn BOBBIN_SUBMIT_DEPLOY_MODE=client, or
// yarn-submit submit --deploy-mode client) the driver runs in this process and the
// executors on the cluster. With BOBBIN_MASTER=bobbin://host:port the executors are
// on a standalone cluster. BOBBIN_MASTER=local-cluster[2,1,1024] starts a cluster
// of two workers on this machine, and stops it when the program ends.
//
// run is the driver function. It is called once for each attempt of the
// application, which succeeds if run returns nil. Its context ends when the
// application must stop. If run returns an error, a program that was started by
// hand exits with 1, or with the result of the error's method ExitStatus() int.
//
// If [Func], [NewCounter] or [NewGauge] was called with an invalid argument, Main
// prints the errors and exits with 2 without calling run.
func Main(run func(ctx context.Context) error) {
	launch.KeepMarker()
	os.Exit(role.Main(run))
}

// RunLocal calls the driver function run with an executor in this process and
// returns its error. master is a local master such as "local[2]". RunLocal is for
// tests, and for programs that do more than run a driver.
func RunLocal(ctx context.Context, master string, run func(ctx context.Context) error) error {
	settings, err := config.Default().With(map[string]string{config.Master.Name(): master})
	if err != nil {
		return err
	}
	return role.RunLocal(ctx, settings, run)
}

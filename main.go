package bobbin

import (
	"context"
	"os"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/role"
)

// Main runs this process in its role and exits with the role's exit status. Main never returns. A
// program that a person starts is driver and executor in one process. On YARN, the same program is
// started as the ApplicationMaster and as each executor. Code before the call of Main runs in all
// of these processes.
//
// In client mode (BOBBIN_MASTER=yarn BOBBIN_SUBMIT_DEPLOY_MODE=client, or yarn-submit submit
// --deploy-mode client) the driver runs in this process and the executors run on the cluster. With
// BOBBIN_MASTER=bobbin://host:port the executors run on a standalone cluster.
// BOBBIN_MASTER=local-cluster[2,1,1024] starts a standalone cluster of two workers, with 1 core and
// 1024 MiB each, on this machine, and stops the cluster when the program ends.
//
// run is the driver function. Each application attempt calls run once, and succeeds if run returns
// nil. The context of run ends when the application must stop. If run returns an error, a program
// that a person started exits with 1 or, if the error has a method ExitStatus() int, with the
// result of that method.
//
// If [Func], [NewCounter] or [NewGauge] was called with an invalid argument, Main prints the errors
// and exits with 2 without calling run.
func Main(run func(ctx context.Context) error) {
	launch.KeepMarker()
	os.Exit(role.Main(run))
}

// RunLocal calls the driver function run with an executor in this process and returns the error of
// run. master is a local master such as "local[2]". Use RunLocal in tests, and in programs that do
// other work besides running a driver.
func RunLocal(ctx context.Context, master string, run func(ctx context.Context) error) error {
	settings, err := config.Default().With(map[string]string{config.Master.Name(): master})
	if err != nil {
		return err
	}
	return role.RunLocal(ctx, settings, run)
}

package bobbin

import (
	"context"
	"os"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/role"
)

// Main runs the program in the role that this process was started in, and
// exits: as driver with its own executor if a person started it, as
// ApplicationMaster or as executor if YARN did. Call it from the program's main
// function, and do nothing before it that not every process should do.
//
// In client mode (BOBBIN_MASTER=yarn BOBBIN_SUBMIT_DEPLOY_MODE=client, or
// yarn-submit submit --deploy-mode client) the driver runs in this process and
// its executors on the cluster. With BOBBIN_MASTER=bobbin://host:port they are on
// a standalone cluster, and with BOBBIN_MASTER=local-cluster[2,1,1024] on one of
// two workers on this machine that ends with the program.
//
// run is the driver function: it is called once for each attempt of the
// application, and the application succeeds if it returns nil. Its context ends
// when the application has to stop. A program that a person started exits with 1
// if run returns an error, or with the error's ExitStatus() int if it has that
// method.
//
// Main does not call run if [Func], [NewCounter] or [NewGauge] was called with a
// wrong argument: it prints the errors and exits with 2.
func Main(run func(ctx context.Context) error) {
	launch.KeepMarker()
	os.Exit(role.Main(run))
}

// RunLocal calls run as Main does in a program that a person started, with a
// local master such as "local[2]", and returns its error. It is for tests, and
// for programs that do more than run a driver.
func RunLocal(ctx context.Context, master string, run func(ctx context.Context) error) error {
	settings, err := config.Default().With(map[string]string{config.Master.Name(): master})
	if err != nil {
		return err
	}
	return role.RunLocal(ctx, settings, run)
}

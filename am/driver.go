package am

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/bobbin-yarn/bobbin/am/remote"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
	"github.com/bobbin-yarn/bobbin/internal/supervise"
)

// Endpoint contains the methods of *driver.Driver that the ApplicationMaster calls. In client mode,
// *remote.Driver implements it.
type Endpoint interface {
	SetManager(manager driver.ClusterManager)
	ExecutorLost(id string, loss driver.Loss)
	Decommission(ids []string, notice driver.DecommissionNotice)
	Status() driver.Status
	Progress() float32 // fraction of the known tasks that have succeeded, from 0 to 1
	TakeProfile(ctx context.Context, request profiling.Request) ([]byte, error)
	Stop(ctx context.Context) error
}

// Driver is the driver for which an ApplicationMaster starts executors.
type Driver struct {
	Endpoint Endpoint
	Address  string // host:port to which executors connect
	Pass     []byte // secret with which executors authenticate to the driver
	// Events receives the events that the ApplicationMaster records.
	Events events.Sink
	// Snapshot returns the state of the application; nil if it is unknown. If the driver is in
	// another process, the state contains no single tasks.
	Snapshot func() *events.Snapshot
	// Costs returns the main causes of the application's run time, after the application has ended.
	Costs func() []string
	// Join connects to a driver in another process. It returns the lowest executor id that earlier
	// attempts have not used. Join is nil for a driver in this process.
	Join func(ctx context.Context) (firstID int, err error)
	// SetCredentials sends new delegation tokens to the executors. content is a Hadoop credentials
	// file. SetCredentials is nil for a driver in another process, which obtains tokens itself.
	SetCredentials func(content []byte)
	// ReceiveCredentials sets a function that is called with each version of the delegation tokens
	// that a driver in another process sends. It is nil for a driver in this process.
	ReceiveCredentials func(use func(content []byte) error)
	// Run runs the driver. It returns when the driver has ended, with the reason if the application
	// has failed.
	Run func(ctx context.Context) error
}

// remoteDriver returns the Driver for client mode. It fails if the container's environment does not
// contain the driver's address, or if the credentials do not contain the secret.
func remoteDriver(attempt *Attempt) (*Driver, error) {
	address := os.Getenv(launch.EnvDriver)
	secret, ok := attempt.credentials.Secret(launch.SecretDriver)
	if address == "" || !ok {
		return nil, fmt.Errorf("%s=%q: the container's environment and credentials do not tell how to join the driver", launch.EnvDriver, address)
	}
	pass, err := identity.ParsePass(secret)
	if err != nil {
		return nil, err
	}
	d := remote.NewDriver(remote.Options{
		Address:             address,
		Pass:                pass,
		Attempt:             int(attempt.ID.Attempt),
		Host:                attempt.Host,
		NetworkTimeout:      config.NetworkTimeout.In(attempt.Settings),
		DisconnectIsFailure: config.AMTreatDisconnectAsFailed.In(attempt.Settings),
		Logger:              attempt.Logger,
	})
	return &Driver{
		Endpoint: d, Address: address, Pass: secret, Join: d.Join, Run: d.Run, ReceiveCredentials: d.ReceiveCredentials,
		Events: d, Snapshot: d.Snapshot, Costs: func() []string { return d.Status().Costs },
	}, nil
}

// driverExit returns the exit code for an error of Driver.Run.
func driverExit(err error) int {
	var noSession *supervise.NoSessionError
	var gone *remote.DisconnectedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &noSession):
		return ExitSessionNotCreated
	case errors.As(err, &gone):
		return ExitDisconnected
	default:
		return ExitUserFunction
	}
}

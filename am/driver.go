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

// Endpoint has the methods of a *driver.Driver or, in client mode, a *remote.Driver.
type Endpoint interface {
	SetManager(manager driver.ClusterManager)
	ExecutorLost(id string, loss driver.Loss)
	Decommission(ids []string, notice driver.DecommissionNotice)
	Status() driver.Status
	Progress() float32 // fraction of the known tasks that are done, 0 to 1
	TakeProfile(ctx context.Context, request profiling.Request) ([]byte, error)
	Stop(ctx context.Context) error
}

// Driver is the driver that an ApplicationMaster runs executors for.
type Driver struct {
	Endpoint Endpoint
	Address  string // host:port to which executors connect
	Pass     []byte // secret with which executors authenticate to the driver
	// Events receives the events that the ApplicationMaster records.
	Events events.Sink
	// Snapshot returns the application's state, without single tasks if the driver is in
	// another process; nil if it is not known.
	Snapshot func() *events.Snapshot
	// Costs returns what cost the application the most time, at its end.
	Costs func() []string
	// Join connects to a driver in another process, and returns the lowest executor id
	// that earlier attempts did not use. It is nil for a driver in this process.
	Join func(ctx context.Context) (firstID int, err error)
	// SetCredentials gives the executors new delegation tokens, encoded as a credentials
	// file of Hadoop. It is nil if the driver is in another process, which gets tokens itself.
	SetCredentials func(content []byte)
	// ReceiveCredentials sets the function that is called with each version of the
	// delegation tokens that a driver in another process sends. It is nil for a driver in
	// this process.
	ReceiveCredentials func(use func(content []byte) error)
	// Run returns when the driver is done, with the reason if the application failed.
	Run func(ctx context.Context) error
}

// remoteDriver makes the client-mode Driver. It fails if the container's environment
// lacks the driver's address, or the credentials lack the secret.
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

// driverExit returns the exit code for a driver's error.
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

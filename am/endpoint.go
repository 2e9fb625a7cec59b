package am

import (
	"context"

	"github.com/bobbin-yarn/bobbin/driver"
)

// endpoint is the driver as its ApplicationMaster sees it: a *driver.Driver of
// the same process, or in client mode a *remote, by which it is reached in the
// process that submitted the application.
type endpoint interface {
	SetManager(manager driver.ClusterManager)
	ExecutorLost(id string, loss driver.Loss)
	Decommission(ids []string, notice driver.Notice)
	Status() driver.Status
	// Stop has the executors leave.
	Stop(ctx context.Context) error
}

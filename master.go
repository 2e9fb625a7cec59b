package bobbin

import (
	"context"
	"log/slog"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// masterYARN is the master URL of a YARN cluster.
const masterYARN = "yarn"

// master is where the executors of a driver in this process are, by its URL. To
// the driver they differ in nothing but their driver.ClusterManager.
type master interface {
	// run calls the driver function with a driver, and ends that with it.
	run(ctx context.Context, function func(ctx context.Context) error) error
}

// newMaster is the master of the settings.
func newMaster(settings *config.Config, logger *slog.Logger) (master, error) {
	switch url := config.Master.In(settings); {
	case strings.HasPrefix(url, "bobbin://"):
		return newStandalone(settings, logger)
	case strings.HasPrefix(url, localClusterScheme):
		return newLocalCluster(settings, logger)
	default:
		return newLocal(settings, logger)
	}
}

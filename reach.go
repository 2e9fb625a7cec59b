package bobbin

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/route"
)

// driverAddresses are where executors reach a driver in this process, and where
// that listens. masters are host:port of those who manage the cluster.
func driverAddresses(ctx context.Context, settings *config.Config, masters []string) (host, bind string, err error) {
	if host = config.DriverHost.In(settings); host == "" {
		address, err := route.Source(ctx, masters)
		if err != nil {
			return "", "", fmt.Errorf("finding the address by which the cluster reaches this machine: %w; set driver.host", err)
		}
		host = address.String()
	}
	return host, cmp.Or(config.DriverBind.In(settings), host), nil
}

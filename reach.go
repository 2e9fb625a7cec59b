package bobbin

import (
	"cmp"
	"errors"
	"fmt"
	"net"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// driverAddresses are where executors reach a driver in this process, and where
// that listens. masters are host:port of those who manage the cluster.
func driverAddresses(settings *config.Config, masters []string) (host, bind string, err error) {
	if host = config.DriverHost.In(settings); host == "" {
		if host, err = towards(masters); err != nil {
			return "", "", err
		}
	}
	return host, cmp.Or(config.DriverBind.In(settings), host), nil
}

// towards is the address that this machine has on its way to the masters.
func towards(masters []string) (string, error) {
	var problems []error
	for _, master := range masters {
		connection, err := net.Dial("udp", master) // it sends nothing
		if err != nil {
			problems = append(problems, err)
			continue
		}
		local, ok := connection.LocalAddr().(*net.UDPAddr)
		_ = connection.Close()
		if ok {
			return local.IP.String(), nil
		}
	}
	return "", fmt.Errorf("finding the address by which the cluster reaches this machine: %w; set driver.host", errors.Join(problems...))
}

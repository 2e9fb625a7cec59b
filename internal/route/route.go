// Package route determines which address of this machine is used to reach other hosts.
package route

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// lookupTimeout is the timeout for resolving the host name of one target.
const lookupTimeout = 10 * time.Second

// SourceIP returns the local address that this machine uses to reach the first of targets
// (host:port) to which it has a route. It sends no packets to targets. It fails if there is no
// route to any target.
func SourceIP(ctx context.Context, targets []string) (net.IP, error) {
	var problems []error
	for _, target := range targets {
		address, err := source(ctx, target)
		if err == nil {
			return address, nil
		}
		problems = append(problems, err)
	}
	return nil, errors.Join(problems...)
}

func source(ctx context.Context, target string) (net.IP, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	connection, err := (&net.Dialer{}).DialContext(ctx, "udp", target)
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()
	local, ok := connection.LocalAddr().(*net.UDPAddr)
	if !ok {
		return nil, fmt.Errorf("the way to %s begins at %v, which is no address of UDP", target, connection.LocalAddr())
	}
	return local.IP, nil
}

// Package route tells by which of its addresses this machine reaches others.
package route

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// lookupTimeout bounds the look for one target's name.
const lookupTimeout = 10 * time.Second

// Source is the address that this machine has on its way to the targets,
// host:port: that of the first one to which there is a way. It sends them nothing.
func Source(ctx context.Context, targets []string) (net.IP, error) {
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

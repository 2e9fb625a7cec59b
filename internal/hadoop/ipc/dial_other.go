//go:build !linux

package ipc

import "net"

// boundUnacknowledged does nothing, because only Linux has TCP_USER_TIMEOUT. The system's
// keep-alive probes have to suffice.
func boundUnacknowledged(net.Conn) error { return nil }

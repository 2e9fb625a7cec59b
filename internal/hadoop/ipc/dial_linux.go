package ipc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// boundUnacknowledged sets TCP_USER_TIMEOUT, which bounds keep-alive probes too.
func boundUnacknowledged(_, _ string, conn syscall.RawConn) error {
	var failed error
	err := conn.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unreachableAfter.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}

package cluster

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// ports holds TCP ports of loopback addresses for daemons that have yet to
// listen on them.
//
// Each is a socket that is bound with SO_REUSEADDR but never listens. The
// kernel gives such a port to no one who asks for any port, yet lets a daemon
// that names it bind and listen, as Java sets SO_REUSEADDR on listeners. So
// nothing can take a port between choosing it and the daemon's listening, nor
// while a test has the daemon stopped.
type ports struct {
	sockets []int
}

// reserve picks a free port of an IPv4 address and returns "address:port".
func (p *ports) reserve(host string) (string, error) {
	ip := net.ParseIP(host).To4()
	if ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("%q is not an IPv4 loopback address (127.x.y.z)", host)
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("reserving a port of %s: %w", host, err)
	}
	p.sockets = append(p.sockets, fd)
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return "", fmt.Errorf("reserving a port of %s: %w", host, err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte(ip)}); err != nil {
		return "", fmt.Errorf("reserving a port of %s: %w", host, err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return "", fmt.Errorf("reserving a port of %s: %w", host, err)
	}
	return net.JoinHostPort(host, strconv.Itoa(name.(*syscall.SockaddrInet4).Port)), nil
}

// release gives up all ports.
func (p *ports) release() error {
	var errs []error
	for _, fd := range p.sockets {
		errs = append(errs, syscall.Close(fd))
	}
	p.sockets = nil
	return errors.Join(errs...)
}

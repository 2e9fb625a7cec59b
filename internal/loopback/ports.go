// Package loopback reserves TCP ports for processes that tests start and stop.
package loopback

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Ports reserves TCP ports of loopback addresses. The zero value has no ports.
//
// For each port, Ports opens a socket that is bound with SO_REUSEADDR and never listens. The
// kernel does not choose such a port for a process that requests any free port, or for an
// outgoing connection. A process that requests exactly this port can listen on it, because Go
// and Java set SO_REUSEADDR on listeners.
type Ports struct {
	sockets []int
}

// Reserve reserves a free port of an IPv4 loopback address, as "address:port".
func (p *Ports) Reserve(host string) (string, error) {
	ip := net.ParseIP(host).To4()
	if ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("%q is not an IPv4 loopback address (127.x.y.z)", host)
	}
	port, err := p.bind([4]byte(ip), 0)
	if err != nil {
		return "", fmt.Errorf("reserving a port of %s: %w", host, err)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// ReservePrivileged reserves a free port below 1024 as Reserve does. It requires root.
func (p *Ports) ReservePrivileged(host string) (string, error) {
	ip := net.ParseIP(host).To4()
	if ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("%q is not an IPv4 loopback address (127.x.y.z)", host)
	}
	var err error
	for port := 1023; port > 900; port-- { // well-known services use lower ports
		if _, err = p.bind([4]byte(ip), port); err == nil {
			return net.JoinHostPort(host, strconv.Itoa(port)), nil
		}
	}
	return "", fmt.Errorf("reserving a port of %s below 1024: %w", host, err)
}

// bind reserves a port of the address ip and returns the port's number. wanted is the number of
// the port to reserve; 0 means any free port.
func (p *Ports) bind(ip [4]byte, wanted int) (port int, err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	syscall.CloseOnExec(fd)
	p.sockets = append(p.sockets, fd)
	reuse := func() error { return syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) }
	if wanted == 0 {
		if err := reuse(); err != nil {
			return 0, err
		}
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: ip, Port: wanted}); err != nil {
		return 0, err
	}
	// If a certain port is wanted, set SO_REUSEADDR only after bind. If it were set before, bind
	// could succeed although the port is reserved already.
	if err := reuse(); err != nil {
		return 0, err
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return name.(*syscall.SockaddrInet4).Port, nil
}

// Release closes all sockets, so that the ports are no longer reserved.
func (p *Ports) Release() error {
	var errs []error
	for _, fd := range p.sockets {
		errs = append(errs, syscall.Close(fd))
	}
	p.sockets = nil
	return errors.Join(errs...)
}

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
// For each port, Ports has a socket that is bound with SO_REUSEADDR and never listens.
// The kernel chooses such a port neither for a process that asks for any free port nor
// for an outgoing connection. A process that asks for this very port can listen on it,
// because Go and Java set SO_REUSEADDR on listeners.
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

// ReservePrivileged reserves a free port below 1024 as Reserve does. Only root may.
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

// bind reserves the port wanted of ip. If wanted is 0, it reserves any free port.
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
	// For a wanted port, the option is set only after bind: before, it would let bind share a
	// port that is reserved already.
	if err := reuse(); err != nil {
		return 0, err
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return name.(*syscall.SockaddrInet4).Port, nil
}

// Release releases all ports.
func (p *Ports) Release() error {
	var errs []error
	for _, fd := range p.sockets {
		errs = append(errs, syscall.Close(fd))
	}
	p.sockets = nil
	return errors.Join(errs...)
}

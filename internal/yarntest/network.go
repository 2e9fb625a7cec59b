package yarntest

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// Network is a network that connects clients with the servers of a Cluster.
type Network interface {
	// listen accepts connections to host and port until the endpoint is closed, and calls serve
	// with each connection. If port is 0, listen chooses a free port.
	listen(host string, port int, serve func(net.Conn)) (endpoint, error)
	// Dial opens a connection to an address of the cluster.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// endpoint is an address on which a server listens.
type endpoint interface {
	port() int
	// close makes the endpoint reject connections until open is called.
	close()
	open() error
}

// Memory returns a network within this process that uses no sockets, so that it can be used in
// a testing/synctest bubble. Hosts can have any names.
func Memory() Network { return &memory{endpoints: map[string]*memoryEndpoint{}, nextPort: 1} }

type memory struct {
	mu        sync.Mutex
	endpoints map[string]*memoryEndpoint
	nextPort  int
}

type memoryEndpoint struct {
	network *memory
	number  int
	serve   func(net.Conn)
	closed  bool
}

func (m *memory) listen(host string, port int, serve func(net.Conn)) (endpoint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if port == 0 {
		port = 1<<15 + m.nextPort%(1<<15)
		m.nextPort++
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	if _, taken := m.endpoints[address]; taken {
		return nil, &net.OpError{Op: "listen", Net: "memory", Addr: memoryAddr(address), Err: syscall.EADDRINUSE}
	}
	e := &memoryEndpoint{network: m, number: port, serve: serve}
	m.endpoints[address] = e
	return e, nil
}

func (m *memory) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	e, ok := m.endpoints[address]
	refused := !ok || e.closed
	m.mu.Unlock()
	if refused {
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: memoryAddr(address), Err: syscall.ECONNREFUSED}
	}
	client, server := newMemoryConn(address)
	e.serve(server)
	return client, nil
}

func (e *memoryEndpoint) port() int { return e.number }

func (e *memoryEndpoint) close() { e.set(true) }

func (e *memoryEndpoint) open() error {
	e.set(false)
	return nil
}

func (e *memoryEndpoint) set(closed bool) {
	e.network.mu.Lock()
	defer e.network.mu.Unlock()
	e.closed = closed
}

// TCP returns the loopback network of this machine. A host whose name is an IP address, such as
// 127.0.0.11, listens on that address. Any other host listens on 127.0.0.1, and only the method
// Dial can resolve its name.
func TCP() Network { return tcp{} }

type tcp struct{}

type tcpEndpoint struct {
	address string
	serve   func(net.Conn)
	number  int

	accepting sync.WaitGroup
	mu        sync.Mutex
	listener  net.Listener
}

func loopback(host string) string {
	if ip := net.ParseIP(host); ip != nil {
		return host
	}
	return "127.0.0.1"
}

func (tcp) listen(host string, port int, serve func(net.Conn)) (endpoint, error) {
	if ip := net.ParseIP(host); ip != nil && !ip.IsLoopback() {
		return nil, fmt.Errorf("host %s is not on loopback: name one of 127.0.0.0/8, or any name", host)
	}
	e := &tcpEndpoint{address: net.JoinHostPort(loopback(host), strconv.Itoa(port)), serve: serve}
	if err := e.open(); err != nil {
		return nil, err
	}
	return e, nil
}

func (tcp) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(loopback(host), port))
}

func (e *tcpEndpoint) port() int { return e.number }

func (e *tcpEndpoint) open() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", e.address)
	if err != nil {
		return err
	}
	e.listener = listener
	e.address = listener.Addr().String()
	e.number = listener.Addr().(*net.TCPAddr).Port
	e.accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			e.serve(conn)
		}
	})
	return nil
}

func (e *tcpEndpoint) close() {
	e.mu.Lock()
	listener := e.listener
	e.listener = nil
	e.mu.Unlock()
	if listener != nil {
		_ = listener.Close()
	}
	e.accepting.Wait()
}

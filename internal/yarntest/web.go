package yarntest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// webServer serves the REST APIs of all ResourceManagers and NodeManagers. The local address of
// a connection determines which daemon serves its requests.
type webServer struct {
	cluster   *Cluster
	server    *http.Server
	transport *http.Transport
	conns     chan net.Conn
	closed    chan struct{}
	serving   sync.WaitGroup
}

func newWebServer(c *Cluster) *webServer {
	w := &webServer{
		cluster: c, conns: make(chan net.Conn), closed: make(chan struct{}),
		transport: &http.Transport{DialContext: c.Dial, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second},
	}
	w.server = &http.Server{
		Handler: w,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, localAddress{}, conn.LocalAddr().String())
		},
		ReadHeaderTimeout: time.Minute,
	}
	w.serving.Go(func() {
		if err := w.server.Serve(w); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			c.log("the web server ended", "error", err)
		}
	})
	return w
}

// localAddress is the context key for the local address of a request's connection.
type localAddress struct{}

// serveConn serves the HTTP requests of a connection.
func (w *webServer) serveConn(conn net.Conn) {
	select {
	case w.conns <- conn:
	case <-w.closed:
		_ = conn.Close()
	}
}

// Accept implements net.Listener.
func (w *webServer) Accept() (net.Conn, error) {
	select {
	case conn := <-w.conns:
		return conn, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (w *webServer) Close() error { return nil }

// Addr implements net.Listener.
func (w *webServer) Addr() net.Addr { return memoryAddr("web:0") }

func (w *webServer) close() {
	close(w.closed)
	w.transport.CloseIdleConnections()
	_ = w.server.Close()
	w.serving.Wait()
}

// HTTPClient returns a client of the cluster's REST APIs, for yarnrest.Options.HTTP.
func (c *Cluster) HTTPClient() *http.Client { return &http.Client{Transport: c.web.transport} }

// ServeHTTP implements http.Handler. It calls the handler of the daemon whose address is the
// connection's local address.
func (w *webServer) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	address, _ := request.Context().Value(localAddress{}).(string)
	c := w.cluster
	for _, m := range c.masters {
		if address == c.boundAddress(m.host, m.web) {
			c.serveMaster(m, response, request)
			return
		}
	}
	for _, n := range c.nodes {
		if n.pages != nil && address == c.boundAddress(n.spec.Host, n.pages) {
			n.servePages(response, request)
			return
		}
	}
	http.NotFound(response, request)
}

// boundAddress returns the local address of server-side connections to an endpoint of a host.
func (c *Cluster) boundAddress(host string, e endpoint) string {
	if _, ok := c.network.(tcp); ok {
		host = loopback(host)
	}
	return net.JoinHostPort(host, strconv.Itoa(e.port()))
}

func answer(response http.ResponseWriter, status int, value any) {
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	_ = json.NewEncoder(response).Encode(value) // an error means that the client has closed the connection
}

// refuse sends an error response in the format of Hadoop's GenericExceptionHandler.
func refuse(response http.ResponseWriter, status int, class, message string) {
	answer(response, status, map[string]any{"RemoteException": map[string]any{
		"exception": class[strings.LastIndexByte(class, '.')+1:], "javaClassName": class, "message": message,
	}})
}

const (
	notFoundClass   = "org.apache.hadoop.yarn.webapp.NotFoundException"
	badRequestClass = "org.apache.hadoop.yarn.webapp.BadRequestException"
)

func (c *Cluster) serveMaster(m *master, response http.ResponseWriter, request *http.Request) {
	c.mu.Lock()
	active := c.active()
	c.mu.Unlock()
	info := request.URL.Path == "/ws/v1/cluster/info"
	switch {
	case m == active || info:
		c.routes(m).ServeHTTP(response, request)
	case active == nil:
		// RMWebAppFilter sends this response if no ResourceManager is active.
		response.Header().Set("Refresh", "3; url="+request.URL.Path)
		response.WriteHeader(http.StatusTemporaryRedirect)
		_, _ = io.WriteString(response, "Can not find any active RM. Will retry in next 3 seconds.\n")
	default:
		target := "http://" + active.address(active.web) + request.URL.RequestURI()
		response.Header().Set("Location", target)
		response.WriteHeader(http.StatusTemporaryRedirect)
		_, _ = io.WriteString(response, "This is standby RM. The redirect url is: "+target+"\n")
	}
}

func (c *Cluster) routes(m *master) http.Handler {
	const cluster = "/ws/v1/cluster"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+cluster+"/info", func(w http.ResponseWriter, _ *http.Request) { c.restInfo(m, w) })
	mux.HandleFunc("GET "+cluster+"/metrics", c.restMetrics)
	mux.HandleFunc("GET "+cluster+"/nodes", c.restNodes)
	mux.HandleFunc("GET "+cluster+"/scheduler", c.restScheduler)
	mux.HandleFunc("POST "+cluster+"/apps/new-application", c.restNewApplication)
	mux.HandleFunc("POST "+cluster+"/apps", c.restSubmit)
	mux.HandleFunc("GET "+cluster+"/apps", c.restApplications)
	mux.HandleFunc("GET "+cluster+"/apps/{id}", c.withApplication(c.restApplication))
	mux.HandleFunc("GET "+cluster+"/apps/{id}/state", c.withApplication(c.restState))
	mux.HandleFunc("PUT "+cluster+"/apps/{id}/state", c.withApplication(c.restKill))
	mux.HandleFunc("GET "+cluster+"/apps/{id}/appattempts", c.withApplication(c.restAttempts))
	mux.HandleFunc("GET "+cluster+"/apps/{id}/appattempts/{attempt}/containers", c.withApplication(c.restContainers))
	return mux
}

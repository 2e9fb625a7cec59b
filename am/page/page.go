// Package page serves an ApplicationMaster's tracking URL: an HTML page and, at
// StatusPath, the same Status as JSON. It answers only YARN's web proxy, for users
// whom the ACLs admit.
package page

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
)

//go:embed status.html
var statusHTML string

var statusPage = template.Must(template.New("status").Funcs(template.FuncMap{
	"mib":     func(bytes uint64) uint64 { return bytes >> 20 },
	"seconds": func(nanos uint64) string { return fmt.Sprintf("%.1f", float64(nanos)/1e9) },
}).Parse(statusHTML))

const (
	headerTimeout = 10 * time.Second
	closeTimeout  = time.Second
	// maxAge is how long a Status is reused: making one occupies the driver's event loop.
	maxAge = 200 * time.Millisecond
)

type statusCache struct {
	take func() Status

	mu     sync.Mutex
	status Status
	taken  time.Time
}

// latest returns a Status that is at most maxAge old.
func (s *statusCache) latest() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken.IsZero() || time.Since(s.taken) >= maxAge {
		s.status, s.taken = s.take(), time.Now()
	}
	return s.status
}

// Server is the read-only web server of an application's page.
type Server struct {
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
}

// Options describe an application's page.
type Options struct {
	BindAddress string // host or IP address to listen on, without a port
	Application string // the application's id
	Owner       string // the user who may always read the page
	Settings    *config.Config
	Hadoop      *conf.Config
	ActiveRM    func() int // returns the index of the active ResourceManager
	Status      func() Status
	Logger      *slog.Logger
}

// Serve starts to serve an application's page on a free port of BindAddress. It
// returns at once; Close ends the server.
func Serve(o Options) (*Server, error) {
	gate, err := newGate(o.Hadoop, o.Application, o.ActiveRM, o.Logger)
	if err != nil {
		return nil, err
	}
	viewers := newViewers(o.Settings, o.Owner)
	return serve(o.BindAddress, func(page http.Handler) http.Handler { return gate.before(viewers.before(page)) }, o.Status)
}

// serve starts the server on a free port of host. guard wraps the handler to refuse requests.
func serve(host string, guard func(http.Handler) http.Handler, status func() Status) (*Server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("status page: %w", err)
	}
	shown := &statusCache{take: status}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = statusPage.Execute(w, shown.latest()) // fails if the client has disconnected
	})
	mux.HandleFunc("GET /"+StatusPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(shown.latest())
	})
	s := &Server{listener: listener, server: &http.Server{Handler: guard(mux), ReadHeaderTimeout: headerTimeout}}
	s.serving.Go(func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			_ = listener.Close()
		}
	})
	return s, nil
}

// URL returns the page's URL with the given host.
func (s *Server) URL(host string) string {
	_, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return ""
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}

// Close stops the server. It gives open requests closeTimeout to end.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close()
	}
	s.serving.Wait()
}

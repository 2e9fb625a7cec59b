package am

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"sync"
	"time"
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
	// snapshotAge is for how long readers share a status. The driver makes each in
	// its event loop, between tasks.
	snapshotAge = 200 * time.Millisecond
)

// snapshots bounds how often the page asks for the status.
type snapshots struct {
	take func() Status

	mu     sync.Mutex
	status Status
	taken  time.Time
}

// latest returns a status that is at most snapshotAge old.
func (s *snapshots) latest() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken.IsZero() || time.Since(s.taken) >= snapshotAge {
		s.status, s.taken = s.take(), time.Now()
	}
	return s.status
}

// statusServer serves the tracking URL. It only shows: nothing can be changed
// through it.
type statusServer struct {
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
}

// servePage serves the application's page to those who may see it.
func (m *applicationMaster) servePage() (*statusServer, error) {
	gate, err := newGate(m.Hadoop, m.ID.Application.String(), m.rm.Serving, m.Logger)
	if err != nil {
		return nil, err
	}
	viewers := newViewers(m.Settings, m.Spec.User)
	return serveStatus(m.Bind, func(page http.Handler) http.Handler { return gate.before(viewers.before(page)) }, m.status)
}

// serveStatus serves the status to those whom guard lets through.
func serveStatus(host string, guard func(http.Handler) http.Handler, status func() Status) (*statusServer, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("status page: %w", err)
	}
	shown := &snapshots{take: status}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = statusPage.Execute(w, shown.latest()) // a reader that went away needs no answer
	})
	mux.HandleFunc("GET /"+StatusPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(shown.latest())
	})
	s := &statusServer{listener: listener, server: &http.Server{Handler: guard(mux), ReadHeaderTimeout: headerTimeout}}
	s.serving.Go(func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			_ = listener.Close()
		}
	})
	return s, nil
}

// url is the server's address, by the host's name in the cluster.
func (s *statusServer) url(host string) string {
	_, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return ""
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}

func (s *statusServer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close()
	}
	s.serving.Wait()
}

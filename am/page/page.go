// Package page serves an ApplicationMaster's tracking URL: the application's pages; at
// StatusPath its Status as JSON, at metrics.Path metrics, and at profiling.Path
// profiles. It answers only YARN's web proxy, for users whom the ACLs admit.
package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/access"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
	"github.com/bobbin-yarn/bobbin/internal/ui"
)

const (
	headerTimeout = 10 * time.Second
	closeTimeout  = time.Second
	// maxAge is how long a Status or a snapshot is reused. A Status is not made for each
	// request, because making one occupies the driver's event loop.
	maxAge = 200 * time.Millisecond
)

// cache reuses a Status or a snapshot for maxAge.
type cache[T any] struct {
	take func() T

	mu    sync.Mutex
	value T
	taken time.Time
}

// latest returns a value that is at most maxAge old.
func (c *cache[T]) latest() T {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken.IsZero() || time.Since(c.taken) >= maxAge {
		c.value, c.taken = c.take(), time.Now()
	}
	return c.value
}

// Server is the web server of an application's pages.
type Server struct {
	listener net.Listener
	scheme   string // http or https
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
	Credentials *security.Credentials // of the ApplicationMaster; nil for none
	ActiveRM    func() int            // returns the index of the active ResourceManager
	Status      func() Status
	Metrics     func(set *metrics.Set) // adds the application's metrics
	Profile     profiling.Taker
	Snapshot    func() *events.Snapshot // what the pages show; see ui.Options
	// Kill kills the application on behalf of a user, and returns at once.
	Kill   func(user string)
	Logger *slog.Logger
}

// Serve starts to serve an application's page on a free port of BindAddress: by HTTPS if
// the credentials have YARN's certificates for it and the ResourceManager is the web proxy,
// else by HTTP. It returns at once; Close ends the server.
func Serve(o Options) (*Server, error) {
	gate, err := newGate(o.Hadoop, o.Application, o.ActiveRM, o.Logger)
	if err != nil {
		return nil, err
	}
	if !gate.apart {
		if gate.certificates, err = certificatesFrom(o.Credentials); err != nil {
			o.Logger.Warn("serving the application's page by HTTP: the certificates for HTTPS, which "+
				"yarn.resourcemanager.application-https.policy asks for, cannot be read", "error", err)
		}
	}
	view, modify := config.ACLs(o.Settings)
	enabled, _ := o.Hadoop.Get("yarn.acl.enable")
	own := enabled == "true" && !config.ACLsEnable.In(o.Settings) // the cluster admits the owner only
	if own {
		// A proxy that does not authenticate users sends this name for all of them.
		view.Users = append(view.Users, o.Hadoop.GetDefault("hadoop.http.staticuser.user", "dr.who"))
	}
	viewers, modifiers := access.New(o.Settings, view, o.Owner), access.New(o.Settings, modify, o.Owner)
	if own {
		viewers.All = !o.Hadoop.SecurityEnabled()
		modifiers.All = false
	}
	snapshots := &cache[*events.Snapshot]{take: o.Snapshot}
	pages := ui.New(ui.Options{Snapshot: snapshots.latest, Profile: o.Profile, Kill: &ui.Kill{
		User: func(r *http.Request) (string, bool) {
			user := proxyUser(r)
			return user, modifiers.Allow(r.Context(), user)
		},
		Origins: gate.origins,
		Do:      o.Kill,
	}})
	return serve(o.BindAddress, func(next http.Handler) http.Handler { return gate.before(onlyFor(viewers, next)) }, o, gate.certificates, pages)
}

// serve starts the server on a free port of host, by HTTP if certificates is nil. guard
// wraps the handler to refuse requests.
func serve(host string, guard func(http.Handler) http.Handler, o Options, certificates *certificates, pages http.Handler) (*Server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("status page: %w", err)
	}
	scheme := "http"
	if certificates != nil {
		scheme, listener = "https", certificates.listener(listener)
	}
	shown := &cache[Status]{take: o.Status}
	mux := http.NewServeMux()
	mux.Handle("/{$}", pages)
	mux.HandleFunc("GET /"+StatusPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(shown.latest())
	})
	mux.Handle("GET "+metrics.Path, metrics.Handler(func(_ context.Context, set *metrics.Set) error {
		o.Metrics(set)
		return nil
	}))
	mux.Handle("GET /"+profiling.Path, profiling.Handler(o.Profile))
	s := &Server{listener: listener, scheme: scheme, server: &http.Server{Handler: guard(mux), ReadHeaderTimeout: headerTimeout}}
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
	return s.scheme + "://" + net.JoinHostPort(host, port) + "/"
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

// Package page serves the tracking URL of an ApplicationMaster: the application's pages, its Status
// as JSON at StatusPath, metrics at metrics.Path, and profiles at profiling.Path. The server
// accepts only requests of YARN's web proxy, and only for users whom the ACLs allow.
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
	"github.com/bobbin-yarn/bobbin/internal/recent"
	"github.com/bobbin-yarn/bobbin/internal/ui"
)

const (
	headerTimeout = 10 * time.Second
	closeTimeout  = time.Second
)

// Server is the web server of an application's pages.
type Server struct {
	listener net.Listener
	scheme   string // URL scheme: http or https
	server   *http.Server
	serving  sync.WaitGroup
}

// Options are the options of [Serve].
type Options struct {
	BindAddress string // host name or IP address on which the server listens, without a port
	Application string // the application's id
	Owner       string // user who may always view the page
	Settings    *config.Config
	Hadoop      *conf.Config
	Credentials *security.Credentials // credentials of the ApplicationMaster; nil for none
	ActiveRM    func() int            // returns the index of the active ResourceManager
	Status      func() Status
	Metrics     func(set *metrics.Set) // adds the application's metrics
	Profile     profiling.Taker
	Snapshot    func() *events.Snapshot // returns the state that the pages show; see ui.Options
	// Kill kills the application on behalf of a user. It must return at once.
	Kill   func(user string)
	Logger *slog.Logger
}

// Serve starts to serve an application's pages on a free port of BindAddress, and returns at once.
// The server uses HTTPS if the ResourceManager is the web proxy and the credentials contain the
// certificates that YARN has issued for the application. Otherwise it uses HTTP. The caller must
// call Close.
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
	// If only the cluster enables ACLs, the application has none of its own. With Kerberos, only its
	// owner may view it. Without Kerberos, everyone may. In both cases, only the owner may kill it.
	clusterACLsOnly := enabled == "true" && !config.ACLsEnable.In(o.Settings)
	if clusterACLsOnly {
		// A proxy that does not authenticate users sends this name for every user.
		view.Users = append(view.Users, o.Hadoop.GetDefault("hadoop.http.staticuser.user", "dr.who"))
	}
	viewers, modifiers := access.New(o.Settings, view, o.Owner), access.New(o.Settings, modify, o.Owner)
	if clusterACLsOnly {
		viewers.All = !o.Hadoop.SecurityEnabled()
		modifiers.All = false
	}
	snapshots := recent.New(o.Snapshot)
	pages := ui.New(ui.Options{Snapshot: snapshots.Latest, Profile: o.Profile, Kill: &ui.Kill{
		User: func(r *http.Request) (string, bool) {
			user := proxyUser(r)
			return user, modifiers.Allow(r.Context(), user)
		},
		Origins: gate.origins,
		Do:      o.Kill,
	}})
	return serve(o.BindAddress, func(next http.Handler) http.Handler { return gate.before(onlyFor(viewers, next)) }, o, gate.certificates, pages)
}

// serve starts the server on a free port of host. If certificates is nil, the server uses HTTP.
// guard returns a handler that refuses requests or passes them to the given handler.
func serve(host string, guard func(http.Handler) http.Handler, o Options, certificates *certificates, pages http.Handler) (*Server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("status page: %w", err)
	}
	scheme := "http"
	if certificates != nil {
		scheme, listener = "https", certificates.listener(listener)
	}
	shown := recent.New(o.Status)
	mux := http.NewServeMux()
	mux.Handle("/{$}", pages)
	mux.HandleFunc("GET /"+StatusPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(shown.Latest())
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

// URL returns the URL of the page, with the given host.
func (s *Server) URL(host string) string {
	_, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return ""
	}
	return s.scheme + "://" + net.JoinHostPort(host, port) + "/"
}

// Close stops the server. It waits up to closeTimeout for open requests.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close()
	}
	s.serving.Wait()
}

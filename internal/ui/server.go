package ui

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

const (
	headerTimeout = 10 * time.Second
	closeTimeout  = time.Second
)

// Server is an HTTP server of pages. Its URL contains a random path, so only users who know the
// URL can read the pages.
type Server struct {
	pages   *Pages
	server  *http.Server
	url     string
	serving sync.WaitGroup
}

// ServeLocally serves pages on a port of 127.0.0.1; port 0 means any free port. The path of the
// pages is random, so that other users of this machine cannot guess it. others maps the names
// of further paths below this path to handlers of GET requests. ServeLocally fails if it cannot
// listen. Close stops the server and ends the streams of the pages.
func ServeLocally(port int, pages *Pages, others map[string]http.Handler) (*Server, error) {
	const host = "127.0.0.1"
	return serve(host, net.JoinHostPort(host, strconv.Itoa(port)), pages, others, Local)
}

// Serve serves pages as ServeLocally does, but also to other machines. It listens at address,
// in the form host:port. host is the name under which other machines reach this machine; it
// becomes part of the URL.
func Serve(host, address string, pages *Pages, others map[string]http.Handler) (*Server, error) {
	return serve(host, address, pages, others, func(all http.Handler) http.Handler { return all })
}

func serve(host, address string, pages *Pages, others map[string]http.Handler, guard func(http.Handler) http.Handler) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the application's pages: %w", err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	path := "/" + rand.Text() + "/"
	s := &Server{pages: pages, url: "http://" + net.JoinHostPort(host, port) + path}
	mux := http.NewServeMux()
	mux.Handle(path+"{$}", pages)
	for name, handler := range others {
		mux.Handle("GET "+path+name, handler)
	}
	s.server = &http.Server{Handler: guard(mux), ReadHeaderTimeout: headerTimeout}
	s.serving.Go(func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			_ = listener.Close()
		}
	})
	return s, nil
}

// URL returns the URL of the pages.
func (s *Server) URL() string { return s.url }

// Close stops the server. It waits up to one second for open requests to end.
func (s *Server) Close() {
	s.pages.Close()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close()
	}
	s.serving.Wait()
}

// Local returns a handler that rejects requests whose Host header is neither localhost nor a
// loopback address. This prevents DNS rebinding, in which a page from another server makes its
// own host name resolve to this machine, and then sends requests to this machine under that
// name.
func Local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host) {
			protect(w.Header())
			http.Error(w, "These pages are for this machine: open them at localhost or 127.0.0.1.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLocal(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// Package shufflehandlertest simulates a NodeManager's shuffle service for tests.
package shufflehandlertest

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler"
)

// Application is the id of the application whose outputs a Service serves.
const Application = "application_17_0001"

// Service serves the map outputs in the local directories of an application.
type Service struct {
	*httptest.Server
	Locals []string
	// Cut makes the service send only a part of its next reply.
	Cut      atomic.Bool
	Requests atomic.Int64

	handler shufflehandler.Handler
}

// Start starts a service, which is stopped when the test ends.
func Start(t testing.TB, password []byte, locals ...string) *Service {
	s := &Service{Locals: locals}
	s.handler.Add(shufflehandler.Application{ID: Application, Password: password, Locals: locals})
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Address returns the service's host:port.
func (s *Service) Address() string { return s.Listener.Addr().String() }

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Requests.Add(1)
	if !s.Cut.Swap(false) {
		s.handler.ServeHTTP(w, r)
		return
	}
	whole := httptest.NewRecorder()
	s.handler.ServeHTTP(whole, r)
	for name, values := range whole.Header() {
		w.Header()[name] = values
	}
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()*2/3]) // the client may have closed the connection
}

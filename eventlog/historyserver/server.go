// Package historyserver serves the pages of applications from a directory of event logs
// to the users of a cluster.
//
// [New] returns the handler: "/" lists the applications, /ID/ATTEMPT/ has the pages of one
// attempt of an application, and /ID/ those of the latest attempt that has a log. Each log
// says who may see its application (ui.view.acls). The server itself has no login: a proxy in
// front of it authenticates readers and names them in a header.
package historyserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/access"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/ui"
	"github.com/bobbin-yarn/bobbin/storage"
)

const (
	// maxListAge is how long a list of the logs is reused before the directory is listed
	// again.
	maxListAge = 2 * time.Second
	// maxListed is how many logs are listed at most. The latest ones are.
	maxListed = 1000
	// concurrentReads is how many logs are read at the same time to make the list.
	concurrentReads = 8
)

// Options describe a Server.
type Options struct {
	Files     *storage.Files
	Directory string // of the logs
	// UserHeader is the header in which a proxy names the reader; "" if no proxy does. Readers
	// without a name see only the applications that everyone may see.
	UserHeader string
	// Proxies are the addresses of proxies. UserHeader is ignored in requests from others.
	Proxies []netip.Prefix
	Logger  *slog.Logger
}

// Server is the handler. Call Close to end the reading of logs.
type Server struct {
	options Options
	mux     *http.ServeMux
	opened  *cache

	mu       sync.Mutex
	entries  []eventlog.Entry     // the logs
	listed   time.Time            // when entries was read
	subjects map[string]*logStart // what the logs begin with, by the path of the log
}

// logStart is what the beginning of a log says about its application, and who may see it.
type logStart struct {
	started *events.ApplicationStarted
	viewers *access.Access
}

// New returns the handler of a directory of logs.
func New(o Options) *Server {
	s := &Server{options: o, mux: http.NewServeMux(), opened: newCache(o), subjects: map[string]*logStart{}}
	s.mux.Handle("GET /{$}", ui.Index("Applications in "+o.Directory, s.list))
	for _, pattern := range []string{"GET /{id}", "GET /{id}/{$}", "GET /{id}/{attempt}", "GET /{id}/{attempt}/{$}"} {
		s.mux.HandleFunc(pattern, s.application)
	}
	return s
}

// Close ends the reading of logs.
func (s *Server) Close() { s.opened.close() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// reader returns the name of the user who sent a request; "" if it is unknown.
func (s *Server) reader(r *http.Request) string {
	if s.options.UserHeader == "" {
		return ""
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.ContainsFunc(s.options.Proxies, func(p netip.Prefix) bool { return p.Contains(from.Addr().Unmap().WithZone("")) }) {
		return ""
	}
	return r.Header.Get(s.options.UserHeader)
}

// logs returns the logs in the directory, the latest first.
func (s *Server) logs(ctx context.Context) ([]eventlog.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.listed) < maxListAge {
		return s.entries, nil
	}
	entries, err := eventlog.List(ctx, s.options.Files, s.options.Directory)
	if err != nil {
		return nil, err
	}
	s.entries, s.listed = entries, time.Now()
	present := map[string]bool{}
	for _, entry := range entries {
		present[entry.Path] = true
	}
	for path := range s.subjects {
		if !present[path] {
			delete(s.subjects, path)
		}
	}
	return entries, nil
}

// subjectOf returns what the log at path begins with. It reads this only once for each log.
func (s *Server) subjectOf(ctx context.Context, path string) (*logStart, error) {
	s.mu.Lock()
	known := s.subjects[path]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	started, err := eventlog.LoadStart(ctx, s.options.Files, path)
	if err != nil {
		return nil, err
	}
	known = &logStart{started: started, viewers: viewersOf(started)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subjects[path] = known
	return known, nil
}

// viewersOf returns who may see an application, according to the settings in its log. If these
// settings are invalid, only the application's user may see it.
func viewersOf(started *events.ApplicationStarted) *access.Access {
	values := map[string]string{}
	for _, setting := range started.Settings {
		if config.IsACL(setting.Key) {
			values[setting.Key] = setting.Value
		}
	}
	settings, err := config.FromMap(values)
	if err != nil {
		viewers := access.New(config.Default(), config.ACL{}, started.User)
		viewers.All = false
		return viewers
	}
	view, _ := config.ACLs(settings)
	return access.New(settings, view, started.User)
}

// list returns the applications that the reader may see.
func (s *Server) list(r *http.Request) ([]ui.ListedApplication, error) {
	entries, err := s.logs(r.Context())
	if err != nil {
		return nil, err
	}
	entries = entries[:min(len(entries), maxListed)]
	found := make([]*logStart, len(entries))
	var describing sync.WaitGroup
	slots := make(chan struct{}, concurrentReads)
	for i, entry := range entries {
		slots <- struct{}{}
		describing.Go(func() {
			defer func() { <-slots }()
			described, err := s.subjectOf(r.Context(), entry.Path)
			if err != nil {
				s.options.Logger.Debug("an event log is not listed", "path", entry.Path, "error", err)
				return
			}
			found[i] = described
		})
	}
	describing.Wait()
	var all []ui.ListedApplication
	reader := s.reader(r)
	for i, entry := range entries {
		if found[i] == nil || !found[i].viewers.Allow(r.Context(), reader) {
			continue
		}
		all = append(all, ui.ListedApplication{
			ID: entry.Application, Attempt: entry.Attempt, Name: found[i].started.Name, User: found[i].started.User, State: entry.State,
			Started: found[i].started.Time.Time, Written: entry.Modified, Link: fmt.Sprintf("%s/%d/", entry.Application, entry.Attempt),
		})
	}
	return all, nil
}

// application serves a page of an application.
func (s *Server) application(w http.ResponseWriter, r *http.Request) {
	entry, err := s.find(r.Context(), r.PathValue("id"), r.PathValue("attempt"))
	if err != nil {
		http.Error(w, "The event logs cannot be listed.", http.StatusInternalServerError)
		s.options.Logger.Warn("listing event logs", "directory", s.options.Directory, "error", err)
		return
	}
	// Readers do not learn whether there is an application that they may not see.
	refuse := func() {
		http.Error(w, "There is no event log of such an application, or you may not see it (ui.view.acls).", http.StatusForbidden)
	}
	if entry == nil {
		refuse()
		return
	}
	described, err := s.subjectOf(r.Context(), entry.Path)
	if err != nil || !described.viewers.Allow(r.Context(), s.reader(r)) {
		refuse()
		return
	}
	pages, err := s.opened.pages(r.Context(), *entry)
	if err != nil {
		http.Error(w, "The event log cannot be read.", http.StatusInternalServerError)
		s.options.Logger.Warn("reading an event log", "path", entry.Path, "error", err)
		return
	}
	pages.ServeHTTP(w, r)
}

// find returns the log of an attempt of an application. If attempt is "", it returns the log of
// the latest attempt that has one. It returns nil if there is no log.
func (s *Server) find(ctx context.Context, id, attempt string) (*eventlog.Entry, error) {
	entries, err := s.logs(ctx)
	if err != nil {
		return nil, err
	}
	var latest *eventlog.Entry
	for i, entry := range entries {
		if entry.Application == id && (attempt == "" || strconv.Itoa(entry.Attempt) == attempt) && (latest == nil || entry.Attempt > latest.Attempt) {
			latest = &entries[i]
		}
	}
	return latest, nil
}

// Package historyserver serves the pages of applications from a directory of event logs to the
// users of a cluster.
//
// [New] returns the HTTP handler. "/" lists the applications, /ID/ATTEMPT/ serves the pages of one
// attempt of an application, and /ID/ the pages of the latest attempt that has a log. The settings
// in each log determine who may view the application (ui.view.acls). The server itself does not
// authenticate users: a proxy in front of the server does, and sends the user's name in a header.
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
	// maxListAge is how long the server reuses a list of the directory.
	maxListAge = 2 * time.Second
	// maxListed is the maximum number of logs in the list. If the directory has more logs, the list
	// has the latest ones.
	maxListed = 1000
	// concurrentReads is the maximum number of logs that list reads at the same time.
	concurrentReads = 8
)

// Options are the options of [New].
type Options struct {
	Files     *storage.Files
	Directory string // directory of the event logs
	// UserHeader is the HTTP header in which a proxy sends the name of the user; "" if there is no
	// proxy. Without a name, the server shows only the applications that everyone may view.
	UserHeader string
	// Proxies are the addresses of trusted proxies. The server ignores UserHeader in requests from
	// other addresses.
	Proxies []netip.Prefix
	Logger  *slog.Logger
}

// Server is the HTTP handler. The caller must call Close.
type Server struct {
	options Options
	mux     *http.ServeMux
	opened  *cache

	mu       sync.Mutex
	entries  []eventlog.Entry     // logs in the directory, the latest first
	listed   time.Time            // when the directory was listed
	subjects map[string]*logStart // first events of the logs, by the path of the log
}

// logStart is the first event of a log, and who may view the application according to its settings.
type logStart struct {
	started *events.ApplicationStarted
	viewers *access.Access
}

// New returns a handler for the logs in o.Directory.
func New(o Options) *Server {
	s := &Server{options: o, mux: http.NewServeMux(), opened: newCache(o), subjects: map[string]*logStart{}}
	s.mux.Handle("GET /{$}", ui.Index("Applications in "+o.Directory, s.list))
	for _, pattern := range []string{"GET /{id}", "GET /{id}/{$}", "GET /{id}/{attempt}", "GET /{id}/{attempt}/{$}"} {
		s.mux.HandleFunc(pattern, s.application)
	}
	return s
}

// Close cancels the reading of logs and waits until it has ended.
func (s *Server) Close() { s.opened.close() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// reader returns the name of the user who sent the request; "" if the name is unknown.
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

// logs returns the logs in the directory, the latest first, from a list that may be maxListAge old.
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

// subjectOf returns the first event of the log at path. It reads each log only once.
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

// viewersOf returns who may view an application according to the settings in its log. If these
// settings are invalid, only the user who submitted the application may view it.
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

// list returns the applications that the sender of the request may view.
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
	// The answer is the same for applications that do not exist and those that the user may not
	// view, so that it does not reveal whether an application exists.
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

// find returns the log of an attempt of an application. If attempt is "", it returns the log of the
// latest attempt that has a log. If there is no such log, find returns nil.
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

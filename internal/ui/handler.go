// Package ui serves the web UI of an application: the pages Overview, Steps, Stream, Jobs,
// Stages, Tasks, Executors, Storage, Settings and Events.
//
// [New] returns the handler. It renders pages from snapshots of the application, never from the
// driver's state. A page is rendered once for each version of the snapshot, regardless of the
// number of requests, but separately for each user who may kill the application. Pages are HTML
// and readable without scripts. A script updates an open page: it fetches the page again and
// copies the differences. If a proxy buffers responses, the script polls; otherwise a stream of
// server-sent events notifies it of each new version.
//
// To meet the requirements of the ResourceManager's web proxy, links contain only a query, no
// request is redirected, and no response is empty. The caller decides who may read the pages.
package ui

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
)

const (
	// watchInterval is how often a stream checks whether the version of the pages has changed.
	watchInterval = 250 * time.Millisecond
	// renewal is the interval at which a page of a running application is rendered again even
	// if no event has occurred, because the page shows the running times of tasks.
	renewal = 5 * time.Second
	// maxLanesAge is the maximum age of the lanes of the Stream page if pages poll and the
	// application runs. Lanes are computed less often than pages are rendered, because they
	// cost far more time.
	maxLanesAge = 2 * time.Second
	// keepAlive is the interval at which a stream sends a message although nothing has changed.
	keepAlive = 15 * time.Second
)

// Options configure the pages of an application.
type Options struct {
	// Snapshot returns the current state. It must be cheap, and the result must not change.
	Snapshot func() *events.Snapshot
	// Partial reports whether Snapshot is incomplete, because the event log of an application
	// that has ended is still being read. A nil Partial means that Snapshot is complete.
	Partial func() bool
	// Streams is true if no proxy buffers responses. Pages then update themselves by a stream
	// of server-sent events, otherwise by polling.
	Streams bool
	// Profile takes profiles of the running application. If it is nil, pages have no links to
	// profiles.
	Profile profiling.Taker
	// Kill lets users kill the application. If it is nil, users cannot kill it from the pages.
	Kill *Kill
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// Pages is the HTTP handler of an application's pages. The owner must call Close to end its
// streams.
type Pages struct {
	options Options
	key     []byte // key of the HMACs that the method token returns
	closing context.Context
	close   context.CancelFunc

	profiles profiles

	mu       sync.Mutex
	version  string                   // version of the pages in rendered
	rendered map[string]renderedPage  // by query and token of the user
	lanes    map[string]renderedLanes // data of the Stream page's drawing, by query; each has its own version
}

// renderedLanes is the data of the drawing on the Stream page, which has a lane for each core, in
// JSON. The field version is the version of the pages
// for which the lanes were computed, and at is the time of this computation.
type renderedLanes struct {
	renderedPage
	version string
	at      time.Time
}

// New returns a handler of GET and PUT requests for "/".
func New(options Options) *Pages {
	if options.Now == nil {
		options.Now = time.Now
	}
	p := &Pages{options: options, key: newKey(), lanes: map[string]renderedLanes{}}
	p.closing, p.close = context.WithCancel(context.Background())
	return p
}

// Close ends all streams, so that the server can shut down.
func (p *Pages) Close() { p.close() }

// version returns a string that identifies the content of the pages at a time. It changes when
// the content changes.
func version(s *events.Snapshot, at time.Time, partial bool) string {
	v := strconv.FormatInt(s.Latest.UnixMicro(), 10)
	if partial {
		v += "-partial"
	}
	if running(s) {
		v += "." + strconv.FormatInt(at.UnixNano()/int64(renewal), 10)
	}
	return v
}

// ServeHTTP implements http.Handler.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	values := r.URL.Query()
	switch {
	case r.Method == http.MethodPut:
		p.kill(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD, PUT")
		http.Error(w, "The pages answer GET and PUT only.", http.StatusMethodNotAllowed)
	case values.Has("asset"):
		serveAsset(w, values.Get("asset"))
	case values.Has("events"):
		p.stream(w, r)
	case values.Has("download"):
		p.serveDownload(w, values.Get("download"))
	case values.Get("page") == profilePage:
		p.serveProfile(w, r, query{values})
	default:
		p.page(w, r, query{values})
	}
}

// policy is the Content-Security-Policy. It allows only the application's own style sheet,
// script and requests: no inline script or style, no frame, and no other server.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Protected returns a handler that adds the headers of an application's pages, among them the
// Content-Security-Policy, to the responses of next. Pages of next must not have inline scripts
// or styles.
func Protected(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		next.ServeHTTP(w, r)
	})
}

// StyleSheet returns a handler that serves a style sheet.
func StyleSheet(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, "text/css; charset=utf-8", content)
	}
}

func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// assets are the files that pages load, by their names.
var assets = func() map[string]asset {
	all := map[string]asset{}
	for name, contentType := range map[string]string{"ui.css": "text/css; charset=utf-8", "ui.js": "text/javascript; charset=utf-8", "lanes.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"} {
		content, err := files.ReadFile(name)
		if err != nil {
			panic("ui: " + err.Error()) // cannot happen, because the file is embedded
		}
		sum := sha256.Sum256(content)
		all[name] = asset{content: content, contentType: contentType, link: "?asset=" + name + "&v=" + hex.EncodeToString(sum[:6])}
	}
	return all
}()

type asset struct {
	content     []byte
	contentType string
	link        string // contains a hash of the content, so that browsers do not use an outdated file
}

func serveAsset(w http.ResponseWriter, name string) {
	a, ok := assets[name]
	if !ok {
		http.Error(w, "There is no such file.", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "private, max-age=86400")
	write(w, http.StatusOK, a.contentType, a.content)
}

// write sends a complete response. It sets Content-Length, with which a proxy forwards the
// response unchanged.
func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the browser has disconnected
}

// layout is the data of the template "page".
type layout struct {
	content
	Version, Live     string
	Application       string
	State, StateClass string
	Caption           string
	Nav               []link
	Icon, Style       string
	Scripts           []string
	Token             string // the token of Pages.tokenFor for the request to kill the application; "" if the user may not kill it
	AsOf              string
}

// state returns the current data for pages, and their version.
func (p *Pages) state() (view, string) {
	// Partial must be called before Snapshot. In the opposite order, reading the log could end
	// between the calls, and an incomplete snapshot would be shown as complete.
	v := view{partial: p.options.Partial != nil && p.options.Partial()}
	v.profiles = p.options.Profile != nil
	v.Snapshot, v.now = p.options.Snapshot(), p.options.Now()
	return v, version(v.Snapshot, v.now, v.partial)
}

func (p *Pages) page(w http.ResponseWriter, r *http.Request, q query) {
	v, current := p.state()
	v.query = q
	if q.get("since") == current {
		write(w, http.StatusOK, "text/html; charset=utf-8", fmt.Appendf(nil, "<!DOCTYPE html><html lang=\"en\" data-version=%q><title>Unchanged</title></html>\n", current))
		return
	}
	rendered, err := p.render(v, current, p.tokenFor(r))
	if err != nil {
		http.Error(w, "The page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	write(w, rendered.status, rendered.contentType, rendered.body)
}

// renderedPage is a response that contains a rendered page, or the lanes of the Stream page.
type renderedPage struct {
	status      int
	contentType string
	body        []byte
}

// maxRenderings is the maximum number of cached pages of one version, and of cached lanes.
const maxRenderings = 100

// render returns the page, or the lanes, that the query of v specifies, for a user with the
// given token. It renders a page only if the page of this version is not cached.
func (p *Pages) render(v view, version, token string) (renderedPage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v.query.get("data") == streamPage {
		return p.renderLanes(v, version)
	}
	if version != p.version || len(p.rendered) >= maxRenderings {
		p.version, p.rendered = version, map[string]renderedPage{}
	}
	key := v.query.with() + "\n" + token
	if known, ok := p.rendered[key]; ok {
		return known, nil
	}
	r, err := p.renderPage(v, version, token)
	if err == nil {
		p.rendered[key] = r
	}
	return r, err
}

func (p *Pages) renderLanes(v view, version string) (renderedPage, error) {
	key := v.query.with()
	known := p.lanes[key]
	mayBeOlder := !p.options.Streams && running(v.Snapshot) && v.now.Sub(known.at) < maxLanesAge
	if known.body != nil && (known.version == version || mayBeOlder) {
		return known.renderedPage, nil
	}
	body, err := json.Marshal(v.lanesOf())
	if err != nil {
		return renderedPage{}, err
	}
	if len(p.lanes) >= maxRenderings {
		clear(p.lanes)
	}
	drawn := renderedPage{status: http.StatusOK, contentType: "application/json", body: body}
	p.lanes[key] = renderedLanes{drawn, version, v.now}
	return drawn, nil
}

func (p *Pages) renderPage(v view, version, token string) (renderedPage, error) {
	name := cmp.Or(v.query.get("page"), overviewPage)
	shown, found := content{}, false
	if show := contents[name]; show != nil {
		shown, found = show(v)
	}
	status := http.StatusOK
	if !found {
		shown, status = missing(), http.StatusNotFound
	}
	l := v.layout(shown, name)
	l.Version = version
	if running(v.Snapshot) {
		l.Token = token
	}
	switch {
	case !running(v.Snapshot) && !v.partial:
	case p.options.Streams:
		l.Live = "stream"
	default:
		l.Live = "poll"
	}
	return l.render(status)
}

// layout returns the layout of a page that does not update itself. If the page updates itself,
// the caller sets Version and Live.
func (v view) layout(shown content, name string) layout {
	l := layout{
		content: shown, Nav: v.navigation(name), AsOf: moment(v.now),
		Icon: assets["icon.svg"].link, Style: assets["ui.css"].link, Scripts: []string{assets["ui.js"].link},
	}
	if slices.ContainsFunc(shown.Sections, func(s section) bool { return s.Lanes != "" }) {
		l.Scripts = append(l.Scripts, assets["lanes.js"].link)
	}
	v.describe(&l)
	return l
}

func (l layout) render(status int) (renderedPage, error) {
	var page bytes.Buffer
	err := pages.ExecuteTemplate(&page, "page", l)
	return renderedPage{status: status, contentType: "text/html; charset=utf-8", body: page.Bytes()}, err
}

// stream sends the version of the pages whenever it changes. It returns when the browser closes
// the connection or Close is called.
func (p *Pages) stream(w http.ResponseWriter, r *http.Request) {
	if !p.options.Streams {
		http.Error(w, "A proxy buffers streams: poll the page.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	flush := http.NewResponseController(w)
	var sent string
	var last time.Time
	for {
		v, current := p.state()
		if current != sent || v.now.Sub(last) >= keepAlive {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", current); err != nil || flush.Flush() != nil {
				return
			}
			sent, last = current, v.now
		}
		select {
		case <-ticks.C:
		case <-r.Context().Done():
			return
		case <-p.closing.Done():
			return
		}
	}
}

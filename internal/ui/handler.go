// Package ui serves the pages of an application: Overview, Jobs, Stages, Tasks,
// Executors, Storage, Settings and Events.
//
// [New] returns the handler. It renders snapshots of the application: no page reads the
// driver's state. A page that several people look at is rendered once for each version of
// the snapshot. Pages are HTML that needs no script. The one script keeps a page
// current: it fetches the page again and copies what differs. Where a proxy buffers
// responses the script polls; else a stream says when to fetch.
//
// All links have a query only, no request is redirected and no response is empty, as the
// ResourceManager's web proxy requires. The caller decides who may read.
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
	// watchInterval is the pause between two looks of a stream at the version.
	watchInterval = 250 * time.Millisecond
	// renewal is the time after which a page of a running application is rendered again
	// although nothing has happened: it shows how long tasks run.
	renewal = 5 * time.Second
	// maxLanesAge is how old the lanes of the Stream page may be if pages poll and the
	// application runs. Lanes are computed less often than pages are rendered, because they
	// cost far more.
	maxLanesAge = 2 * time.Second
	// keepAlive is the time after which a stream sends a message although nothing has changed.
	keepAlive = 15 * time.Second
)

// Options describe the pages of an application.
type Options struct {
	// Snapshot returns the current state, at little cost. The result must not change.
	Snapshot func() *events.Snapshot
	// Partial reports whether Snapshot will soon have more, although the application has
	// ended; nil means no.
	Partial func() bool
	// Streams says that responses are not buffered on their way to the browser.
	Streams bool
	// Profile takes profiles of the running application; nil if the pages offer none.
	Profile profiling.Taker
	// Kill is nil if the pages do not offer to kill the application.
	Kill *Kill
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// Pages is the handler of an application's pages. Call Close to end its streams.
type Pages struct {
	options Options
	key     []byte // authenticates the tokens of kill
	closing context.Context
	close   context.CancelFunc

	profiles profiles

	mu       sync.Mutex
	version  string                   // of the pages in rendered
	rendered map[string]renderedPage  // by query and token
	lanes    map[string]renderedLanes // by query; each has its own version
}

// renderedLanes are the lanes for a query as JSON, with the version of the pages and the time
// when they were computed.
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

// version names what the pages show at a time. It changes if they do.
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

// policy allows the application's own style sheet, script and requests only: no inline
// script or style, no frame, no other server.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// assets are the files that pages load, by name.
var assets = func() map[string]asset {
	all := map[string]asset{}
	for name, contentType := range map[string]string{"ui.css": "text/css; charset=utf-8", "ui.js": "text/javascript; charset=utf-8", "lanes.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"} {
		content, err := files.ReadFile(name)
		if err != nil {
			panic("ui: " + err.Error()) // the file is embedded
		}
		sum := sha256.Sum256(content)
		all[name] = asset{content: content, contentType: contentType, link: "?asset=" + name + "&v=" + hex.EncodeToString(sum[:6])}
	}
	return all
}()

type asset struct {
	content     []byte
	contentType string
	link        string // differs if the content does
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

// write sends a whole response with its length, which a proxy passes on as it is.
func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails if the browser has gone
}

// layout is what the template "page" shows.
type layout struct {
	content
	Version, Live     string
	Application       string
	State, StateClass string
	Caption           string
	Nav               []link
	Icon, Style       string
	Scripts           []string
	Token             string // "" if the reader may not kill the application
	AsOf              string
}

// state returns what the pages show now, and its version.
func (p *Pages) state() (view, string) {
	v := view{partial: p.options.Partial != nil && p.options.Partial()} // asked before: the snapshot may have all by now
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

// renderedPage is a page, or data for one, as it was rendered.
type renderedPage struct {
	status      int
	contentType string
	body        []byte
}

// maxRenderings is how many pages of one version are kept.
const maxRenderings = 100

// render returns what a user with this token asked for. It renders each version once.
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

// layout returns the layout of a page, which does not stay current.
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

// stream sends the version whenever it changes, until the browser goes or Close is called.
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

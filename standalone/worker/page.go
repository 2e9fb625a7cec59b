package worker

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/ui"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed style.css
	style []byte
)

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"time": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
}).Parse(pageHTML))

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = time.Minute
	closeTimeout  = time.Second
	// morePorts is how many higher ports are tried if a port is in use.
	morePorts = 16
	logsPath  = "/logs/"
)

// page serves the worker's status, its logs, and map outputs over HTTP. It is read-only.
type page struct {
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
}

// listen listens on the port or, if the port is in use, on the next higher free port.
func listen(host string, port int) (*page, error) {
	for more := 0; ; more++ {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return &page{listener: listener}, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || port == 0 || more == morePorts || port == 1<<16-1 {
			return nil, fmt.Errorf("the worker's page: %w; see worker.host and worker.ui.port", err)
		}
		port++
	}
}

func (p *page) port() int {
	address, _ := p.listener.Addr().(*net.TCPAddr)
	return address.Port
}

func (p *page) address(host string) string { return net.JoinHostPort(host, strconv.Itoa(p.port())) }

func (p *page) url(host string) string { return "http://" + p.address(host) }

// logURL returns the URL of a process's logs. The URL of a file is this URL, followed by a
// slash and the file's name.
func (p *page) logURL(host, owner, process string) string {
	return p.url(host) + logsPath + url.PathEscape(owner) + "/" + url.PathEscape(process)
}

func (p *page) serve(directory *workDirectory, status func(context.Context) (Status, error), shuffles http.Handler) {
	handler := http.NewServeMux()
	handler.Handle("/", routes(directory, status))
	handler.Handle("GET "+shufflehandler.Path, shuffles)
	p.server = &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	p.serving.Go(func() {
		if err := p.server.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
			_ = p.listener.Close()
		}
	})
}

func (p *page) close() {
	if p.server == nil {
		_ = p.listener.Close()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := p.server.Shutdown(ctx); err != nil {
		_ = p.server.Close()
	}
	p.serving.Wait()
}

func routes(directory *workDirectory, status func(context.Context) (Status, error)) http.Handler {
	mux := http.NewServeMux()
	withStatus := func(show func(w http.ResponseWriter, s Status)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			s, err := status(r.Context())
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			show(w, s)
		}
	}
	mux.HandleFunc("GET /{$}", withStatus(func(w http.ResponseWriter, s Status) { showPage(w, "worker", s) }))
	mux.HandleFunc("GET /style.css", ui.StyleSheet(style))
	mux.HandleFunc("GET "+StatusPath, withStatus(func(w http.ResponseWriter, s Status) { showJSON(w, s) }))
	mux.Handle("GET "+metrics.Path, metrics.Handler(func(ctx context.Context, set *metrics.Set) error {
		s, err := status(ctx)
		MetricTable.AddTo(set, &s)
		return err
	}))
	mux.HandleFunc("GET "+logsPath+"{owner}", func(w http.ResponseWriter, r *http.Request) { showOwner(w, r, directory) })
	mux.HandleFunc("GET "+logsPath+"{owner}/{process}", func(w http.ResponseWriter, r *http.Request) { showLogs(w, r, directory) })
	mux.HandleFunc("GET "+logsPath+"{owner}/{process}/{$}", func(w http.ResponseWriter, r *http.Request) { showLogs(w, r, directory) })
	mux.HandleFunc("GET "+logsPath+"{owner}/{process}/{file}", func(w http.ResponseWriter, r *http.Request) { showLog(w, r, directory) })
	return ui.Protected(mux)
}

func showPage(w http.ResponseWriter, name string, value any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pages.ExecuteTemplate(w, name, value) // fails only if the browser has closed the connection
}

func showJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value)
}

package master

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/ui"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed style.css
	style []byte
)

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"mib": func(bytes int64) int64 { return config.Size(bytes).MiB() },
	"time": func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return at.Format("2006-01-02 15:04:05")
	},
	"total": func(total uint32) string {
		if total == protocol.Unlimited {
			return "all"
		}
		return strconv.FormatUint(uint64(total), 10)
	},
}).Parse(pageHTML))

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = time.Minute
	statusTimeout = 10 * time.Second
	closeTimeout  = time.Second
)

// web serves the master's web page, which is read-only.
type web struct {
	listener net.Listener
	server   *http.Server
}

func (m *Master) listenWeb() (*web, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(m.options.Host, strconv.Itoa(m.options.WebPort)))
	if err != nil {
		return nil, fmt.Errorf("the master's page: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", m.show("text/html; charset=utf-8", func(w http.ResponseWriter, s Status) error {
		return page.Execute(w, s)
	}))
	mux.HandleFunc("GET /style.css", ui.StyleSheet(style))
	mux.HandleFunc("GET /json", m.show("application/json", func(w http.ResponseWriter, s Status) error {
		return json.NewEncoder(w).Encode(s)
	}))
	mux.Handle("GET "+metrics.Path, metrics.Handler(func(ctx context.Context, set *metrics.Set) error {
		s, err := m.Status(ctx)
		s.addMetrics(set)
		return err
	}))
	return &web{listener: listener, server: &http.Server{Handler: ui.Protected(mux), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}}, nil
}

func (m *Master) show(contentType string, write func(http.ResponseWriter, Status) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
		defer cancel()
		s, err := m.Status(ctx)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_ = write(w, s) // fails only if the browser has closed the connection
	}
}

func (w *web) serve() {
	if err := w.server.Serve(w.listener); !errors.Is(err, http.ErrServerClosed) {
		_ = w.listener.Close()
	}
}

func (w *web) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := w.server.Shutdown(ctx); err != nil {
		_ = w.server.Close()
	}
}

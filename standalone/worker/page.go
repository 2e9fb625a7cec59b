package worker

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:embed page.html
var pageHTML string

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"time": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
}).Parse(pageHTML))

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = time.Minute
	closeTimeout  = time.Second
	// morePorts is how many ports behind a taken one are tried, as for Spark's pages.
	morePorts = 16
	logsPath  = "/logs/"
)

// page serves the worker's status and the logs of what it runs. It only shows:
// nothing can be changed through it.
type page struct {
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
}

// listen takes the port, or the next one that is free.
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

func (p *page) url(host string) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(p.port()))
}

// logURL is where the logs of a process are, below which each has its name.
func (p *page) logURL(host, owner, process string) string {
	return p.url(host) + logsPath + url.PathEscape(owner) + "/" + url.PathEscape(process)
}

// serve begins to answer.
func (p *page) serve(directory *workDirectory, status func(context.Context) (Status, error)) {
	p.server = &http.Server{Handler: routes(directory, status), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
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
	mux.HandleFunc("GET "+StatusPath, withStatus(func(w http.ResponseWriter, s Status) { showJSON(w, s) }))
	mux.HandleFunc("GET "+logsPath+"{owner}", func(w http.ResponseWriter, r *http.Request) { showOwner(w, r, directory) })
	mux.HandleFunc("GET "+logsPath+"{owner}/{process}", func(w http.ResponseWriter, r *http.Request) { showLogs(w, r, directory) })
	mux.HandleFunc("GET "+logsPath+"{owner}/{process}/{$}", func(w http.ResponseWriter, r *http.Request) { showLogs(w, r, directory) })
	mux.HandleFunc("GET "+logsPath+"{owner}/{process}/{file}", func(w http.ResponseWriter, r *http.Request) { showLog(w, r, directory) })
	return mux
}

func showPage(w http.ResponseWriter, name string, value any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pages.ExecuteTemplate(w, name, value) // a reader that went away needs no answer
}

func showJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value)
}

// LogFiles are the log files of an executor or a driver, as its log URL gives
// them with ?format=json. Each can be read behind the URL, a slash and its name.
type LogFiles struct {
	Owner   string    `json:"owner"`
	Process string    `json:"process"`
	Files   []LogFile `json:"files"` // in the order in which they read on: stdout.2, stdout.1, stdout
}

// LogFile is one of them.
type LogFile struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"` // bytes
	Modified time.Time `json:"modified"`
}

// logsOf is the directory of a process's logs; false where none can be meant.
func logsOf(r *http.Request, directory *workDirectory) (string, bool) {
	owner, process := r.PathValue("owner"), r.PathValue("process")
	if checkID(owner) != nil || checkID(process) != nil {
		return "", false
	}
	return directory.containerOf(owner, process).part(logsPart), true
}

func showLogs(w http.ResponseWriter, r *http.Request, directory *workDirectory) {
	path, ok := logsOf(r, directory)
	if !ok {
		http.NotFound(w, r)
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		refuse(w, r, err)
		return
	}
	listed := LogFiles{Owner: r.PathValue("owner"), Process: r.PathValue("process"), Files: []LogFile{}}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		listed.Files = append(listed.Files, LogFile{Name: entry.Name(), Size: info.Size(), Modified: info.ModTime()})
	}
	slices.SortFunc(listed.Files, func(a, b LogFile) int {
		first, oldness := rolled(a.Name)
		second, other := rolled(b.Name)
		if first != second {
			return strings.Compare(first, second)
		}
		return other - oldness
	})
	if r.URL.Query().Get("format") == "json" {
		showJSON(w, listed)
		return
	}
	showPage(w, "logs", listed)
}

// rolled takes stdout.2 apart; a file that was not rolled has the number 0.
func rolled(name string) (base string, number int) {
	if at := strings.LastIndexByte(name, '.'); at > 0 {
		if number, err := strconv.Atoi(name[at+1:]); err == nil && number > 0 {
			return name[:at], number
		}
	}
	return name, 0
}

// showLog serves a log file, or the part of it that the request's Range names.
func showLog(w http.ResponseWriter, r *http.Request, directory *workDirectory) {
	path, ok := logsOf(r, directory)
	if !ok {
		http.NotFound(w, r)
		return
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		refuse(w, r, err)
		return
	}
	defer func() { _ = root.Close() }()
	file, err := root.Open(filepath.Base(r.PathValue("file")))
	if err != nil {
		refuse(w, r, err)
		return
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", info.ModTime(), file)
}

func refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		http.NotFound(w, r)
		return
	}
	http.Error(w, "cannot be read", http.StatusInternalServerError)
}

package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/logs"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

const (
	// lastWordsBytes is how much of a driver's stderr is looked at for its last line.
	lastWordsBytes = 4 << 10
	// lineBytes is what a line of a log takes at most where only the last ones are
	// wanted; more is cut at the front.
	lineBytes = 1 << 10
	// pageTimeout bounds a worker's answer, but for the content of a log.
	pageTimeout = 10 * time.Second
)

// workerPages asks workers for their pages. They are called as masters are:
// straight, whatever proxy the environment names.
var workerPages = &http.Client{Transport: &http.Transport{
	DialContext:           (&net.Dialer{Timeout: pageTimeout}).DialContext,
	ResponseHeaderTimeout: pageTimeout,
	DisableKeepAlives:     true,
}}

// logPlace is where a worker shows the output of one process.
type logPlace struct {
	container, executor string
	url                 string
}

// Logs calls write for the output of a driver and of its application's executors,
// as far as their workers have it, running and finished.
func (s *Cluster) Logs(ctx context.Context, id string, selection logs.Selection, console *client.Console, write func(file logs.File, content io.Reader) error) error {
	places, err := s.logPlaces(ctx, id)
	if err != nil {
		return err
	}
	found := false
	for _, place := range places {
		if selection.Container != "" && selection.Container != place.container {
			continue
		}
		files, err := logFiles(ctx, place)
		if err != nil {
			console.Warn("the logs of %s: %v", place.container, err)
			continue
		}
		for _, file := range files {
			if err := writeWorkerLog(ctx, place, file, selection.Tail, write); err != nil {
				return err
			}
			found = true
		}
	}
	if !found {
		return client.Refusedf("no worker has logs of %s (any more)", id)
	}
	return nil
}

// logPlaces are those of a driver and its application, or of an application.
func (s *Cluster) logPlaces(ctx context.Context, id string) ([]logPlace, error) {
	driver, err := isDriver(id)
	if err != nil {
		return nil, err
	}
	var places []logPlace
	application := id
	if driver {
		reply, err := s.masters.Driver(ctx, id)
		if err != nil {
			return nil, refusedFor(ctx, id, err)
		}
		if reply.GetLogUrl() != "" {
			places = append(places, logPlace{container: id, executor: logs.Driver, url: reply.GetLogUrl()})
		}
		if application = reply.GetApplicationId(); application == "" {
			return places, nil
		}
	}
	seen, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	return append(places, s.executorPlaces(ctx, application, seen)...), nil
}

// executorPlaces asks all workers which executors of an application they have
// logs of.
func (s *Cluster) executorPlaces(ctx context.Context, application string, seen *cluster.Status) []logPlace {
	var places []logPlace
	for _, worker := range seen.Workers {
		if worker.WebURL == "" || worker.State == cluster.WorkerDead {
			continue
		}
		var listed struct {
			Processes []string `json:"processes"`
		}
		page := strings.TrimRight(worker.WebURL, "/") + "/logs/" + url.PathEscape(application)
		if err := getJSON(ctx, page, &listed); err != nil {
			s.log.Debug("asking a worker for logs", "worker", worker.ID, "error", err)
			continue
		}
		for _, executor := range listed.Processes {
			places = append(places, executorPlace(application, executor, page+"/"+url.PathEscape(executor)))
		}
	}
	return places
}

// file is where a file of it is read.
func (p logPlace) file(name string) string {
	return strings.TrimRight(p.url, "/") + "/" + url.PathEscape(name)
}

func executorPlace(application, executor, page string) logPlace {
	return logPlace{container: application + "/" + executor, executor: executor, url: page}
}

// attempt is which launch of a driver it was; executors are launched once.
func (p logPlace) attempt() int {
	if launch, err := strconv.Atoi(path.Base(p.url)); err == nil && p.executor == logs.Driver {
		return launch
	}
	return 1
}

// workerFile is a file of a process as its worker lists it.
type workerFile struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"` // bytes
	Modified time.Time `json:"modified"`
}

func logFiles(ctx context.Context, place logPlace) ([]workerFile, error) {
	var listed struct {
		Files []workerFile `json:"files"`
	}
	err := getJSON(ctx, place.url, &listed)
	return listed.Files, err
}

func writeWorkerLog(ctx context.Context, place logPlace, file workerFile, tail int, write func(file logs.File, content io.Reader) error) error {
	from := int64(0)
	if tail > 0 {
		from = max(0, file.Size-int64(tail)*lineBytes)
	}
	content, err := getFrom(ctx, place.file(file.Name), from)
	if err != nil {
		return client.Refused(err)
	}
	defer func() { _ = content.Close() }()
	var text io.Reader = content
	if tail > 0 {
		if from > 0 {
			if text, err = wholeLines(content); err != nil {
				return client.Refused(err)
			}
		}
		if text, err = logs.LastLines(text, tail); err != nil {
			return client.Refused(err)
		}
	}
	host := ""
	if parsed, err := url.Parse(place.url); err == nil {
		host = parsed.Host
	}
	return write(logs.File{Container: place.container, Executor: place.executor, Attempt: place.attempt(), Host: host, Name: file.Name, Size: file.Size}, text)
}

// wholeLines drops the part of a line with which a text begins.
func wholeLines(content io.Reader) (io.Reader, error) {
	lines := bufio.NewReader(content)
	if _, err := lines.ReadBytes('\n'); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return lines, nil
}

// lastWords is the last line of what a driver wrote to stderr, in which its
// program says why it failed; "" where it cannot be read.
func (s *Cluster) lastWords(ctx context.Context, logs string) string {
	if logs == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	place := logPlace{url: logs}
	files, err := logFiles(ctx, place)
	if err != nil {
		s.log.Debug("reading the driver's stderr", "error", err)
		return ""
	}
	for _, file := range files {
		if file.Name != "stderr" {
			continue
		}
		content, err := getFrom(ctx, place.file(file.Name), max(0, file.Size-lastWordsBytes))
		if err != nil {
			return ""
		}
		text, _ := io.ReadAll(content) // a part will do
		_ = content.Close()
		lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD")), "\n")
		return strings.TrimSpace(lines[len(lines)-1])
	}
	return ""
}

func getJSON(ctx context.Context, page string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	content, err := getFrom(ctx, page+"?format=json", 0)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	if err := json.NewDecoder(content).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return nil
}

// getFrom is what a worker's page has from an offset in bytes on.
func getFrom(ctx context.Context, page string, offset int64) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, err
	}
	if offset > 0 {
		request.Header.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-")
	}
	response, err := workerPages.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusPartialContent {
		_ = response.Body.Close()
		return nil, &pageError{page, response.StatusCode}
	}
	return response.Body, nil
}

// pageError is of a worker that answers, but not with what was asked for.
type pageError struct {
	page string
	code int // of HTTP
}

func (e *pageError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.page, e.code, http.StatusText(e.code))
}

// workerSource reads the logs of a process where its worker shows them.
type workerSource logPlace

func (w workerSource) List(ctx context.Context) ([]logs.FileInfo, error) {
	listed, err := logFiles(ctx, logPlace(w))
	if err != nil {
		return nil, err
	}
	files := make([]logs.FileInfo, len(listed))
	for i, file := range listed {
		files[i] = logs.FileInfo{Name: file.Name, Size: file.Size, Modified: file.Modified}
	}
	return files, nil
}

func (w workerSource) Open(ctx context.Context, name string, size, from int64) (io.ReadCloser, error) {
	if size <= from {
		return io.NopCloser(strings.NewReader("")), nil
	}
	content, err := getFrom(ctx, logPlace(w).file(name), from)
	var refusal *pageError
	if errors.As(err, &refusal) && (refusal.code == http.StatusRequestedRangeNotSatisfiable || refusal.code == http.StatusNotFound) {
		return nil, logs.ErrShorter // it was rolled after it was listed
	}
	return content, err
}

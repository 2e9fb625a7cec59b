package client

import (
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
	// stderrTailBytes is the number of bytes at the end of a driver's stderr in which the last
	// line is searched for.
	stderrTailBytes = 4 << 10
	// pageTimeout limits the wait for a worker's response, but not the transfer of a log.
	pageTimeout = 10 * time.Second
)

// workerPages fetches pages of workers. It ignores HTTP_PROXY and similar environment
// variables.
var workerPages = &http.Client{Transport: &http.Transport{
	DialContext:           (&net.Dialer{Timeout: pageTimeout}).DialContext,
	ResponseHeaderTimeout: pageTimeout,
	DisableKeepAlives:     true,
}}

// processLogs has the URL at which a worker serves the logs of an executor or of one launch of
// a driver.
type processLogs struct {
	container, executor string
	url                 string
}

// Logs calls write with each log file: for a driver, the files of the driver and of the
// executors of its application; for an application, only those of its executors. Logs
// includes ended processes whose workers still have the files. It fails if no file exists.
func (s *Cluster) Logs(ctx context.Context, id string, selection logs.Selection, console *client.Console, write func(file logs.File, content io.Reader) error) error {
	processes, err := s.allLogs(ctx, id)
	if err != nil {
		return err
	}
	found := false
	for _, process := range processes {
		if selection.Container != "" && selection.Container != process.container {
			continue
		}
		files, err := logFiles(ctx, process)
		if err != nil {
			console.Warn("the logs of %s: %v", process.container, err)
			continue
		}
		for _, file := range files {
			if err := writeWorkerLog(ctx, process, file, selection.Tail, write); err != nil {
				return err
			}
			found = true
		}
	}
	if !found {
		return client.RefusedErrorf("no worker has logs of %s (any more)", id)
	}
	return nil
}

// allLogs returns the logs of a driver and of the executors of its application or, if id is an
// application's, only those of the executors.
func (s *Cluster) allLogs(ctx context.Context, id string) ([]processLogs, error) {
	driver, err := isDriver(id)
	if err != nil {
		return nil, err
	}
	var processes []processLogs
	application := id
	if driver {
		reply, err := s.masters.Driver(ctx, id)
		if err != nil {
			return nil, refusedErrorFor(ctx, id, err)
		}
		if reply.GetLogUrl() != "" {
			processes = append(processes, processLogs{container: id, executor: logs.Driver, url: reply.GetLogUrl()})
		}
		if application = reply.GetApplicationId(); application == "" {
			return processes, nil
		}
	}
	state, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	return append(processes, s.executorLogs(ctx, application, state)...), nil
}

func (s *Cluster) executorLogs(ctx context.Context, application string, state *cluster.Status) []processLogs {
	var processes []processLogs
	for _, worker := range state.Workers {
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
			processes = append(processes, executorLog(application, executor, page+"/"+url.PathEscape(executor)))
		}
	}
	return processes
}

func (p processLogs) file(name string) string {
	return strings.TrimRight(p.url, "/") + "/" + url.PathEscape(name)
}

func executorLog(application, executor, page string) processLogs {
	return processLogs{container: application + "/" + executor, executor: executor, url: page}
}

// attempt returns the number of a driver's launch. For an executor, it returns 1.
func (p processLogs) attempt() int {
	if launch, err := strconv.Atoi(path.Base(p.url)); err == nil && p.executor == logs.Driver {
		return launch
	}
	return 1
}

type workerFile struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"` // bytes
	Modified time.Time `json:"modified"`
}

func logFiles(ctx context.Context, process processLogs) ([]workerFile, error) {
	var listed struct {
		Files []workerFile `json:"files"`
	}
	err := getJSON(ctx, process.url, &listed)
	return listed.Files, err
}

func writeWorkerLog(ctx context.Context, process processLogs, file workerFile, tail int, write func(file logs.File, content io.Reader) error) error {
	from := int64(0)
	if tail > 0 {
		var err error
		if from, err = logs.StartOfLines(ctx, workerSource(process), logs.FileInfo{Name: file.Name, Size: file.Size}, tail); err != nil {
			return client.RefusedError(err)
		}
	}
	content, err := getFrom(ctx, process.file(file.Name), from)
	if err != nil {
		return client.RefusedError(err)
	}
	defer func() { _ = content.Close() }()
	var text io.Reader = content
	if tail > 0 {
		if text, err = logs.LastLines(content, tail); err != nil { // the file may have grown since StartOfLines, so that more than tail lines follow
			return client.RefusedError(err)
		}
	}
	host := ""
	if parsed, err := url.Parse(process.url); err == nil {
		host = parsed.Host
	}
	return write(logs.File{Container: process.container, Executor: process.executor, Attempt: process.attempt(), Host: host, Name: file.Name, Size: file.Size}, text)
}

// lastStderrLine returns the last line of a driver's stderr, which usually explains why the
// driver failed. It returns "" if the line cannot be read. logs is the URL of the driver's
// logs.
func (s *Cluster) lastStderrLine(ctx context.Context, logs string) string {
	if logs == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	process := processLogs{url: logs}
	files, err := logFiles(ctx, process)
	if err != nil {
		s.log.Debug("reading the driver's stderr", "error", err)
		return ""
	}
	for _, file := range files {
		if file.Name != "stderr" {
			continue
		}
		content, err := getFrom(ctx, process.file(file.Name), max(0, file.Size-stderrTailBytes))
		if err != nil {
			return ""
		}
		text, _ := io.ReadAll(content) // after an error, use the bytes that were read
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

// getFrom requests a worker's page and returns its body from offset (in bytes) on. The caller
// must close the body.
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

// pageError is the error for HTTP statuses other than 200 and 206.
type pageError struct {
	page string
	code int
}

func (e *pageError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.page, e.code, http.StatusText(e.code))
}

// workerSource lists and opens those log files of a process that its worker has not removed.
type workerSource processLogs

func (w workerSource) List(ctx context.Context) ([]logs.FileInfo, error) {
	listed, err := logFiles(ctx, processLogs(w))
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
	content, err := getFrom(ctx, processLogs(w).file(name), from)
	var refusal *pageError
	if errors.As(err, &refusal) && (refusal.code == http.StatusRequestedRangeNotSatisfiable || refusal.code == http.StatusNotFound) {
		return nil, logs.ErrChanged // the file was removed, or it was full and was renamed
	}
	return content, err
}

package yarnrest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// LogFile is a log file of a container.
type LogFile struct {
	Name       string
	Size       int64     // size in bytes when the files were listed
	Modified   time.Time // zero if the time could not be parsed
	Aggregated bool      // whether the file is in the aggregated logs instead of on the node
}

// ContainerLogs returns the log files of a container that runs or ran on the node. The
// NodeManager deletes the files after log aggregation or, without aggregation, after
// yarn.nodemanager.log.retain-seconds (3 hours by default).
func (n *NodeManager) ContainerLogs(ctx context.Context, containerID string) ([]LogFile, error) {
	a, err := n.fetch(ctx, pathOf(nodePath, "containers", containerID, "logs"))
	if err != nil {
		return nil, err
	}
	root, err := a.parse()
	if err != nil {
		return nil, err
	}
	return decodeLogFiles(root), nil
}

// decodeLogFiles decodes a list of a container's log files: a containerLogsInfo for the files
// on the node, and possibly a second one for the aggregated files. root is an object with one
// containerLogsInfo, an object whose containerLogsInfo is a list, or a list of objects with one
// containerLogsInfo each.
func decodeLogFiles(root jsonValue) []LogFile {
	var groups []jsonValue
	for _, e := range root.list() {
		groups = append(groups, e.at("containerLogsInfo").list()...)
	}
	var files []LogFile
	for _, group := range groups {
		aggregated := group.at("logAggregationType").text() == "AGGREGATED"
		for _, f := range group.at("containerLogInfo").list() {
			modified, _ := time.Parse(logTimeLayout, f.at("lastModifiedTime").text())
			files = append(files, LogFile{
				Name:       f.at("fileName").text(),
				Size:       f.at("fileSize").int64(),
				Modified:   modified,
				Aggregated: aggregated,
			})
		}
	}
	return files
}

// logTimeLayout is the format of Hadoop's Times.format.
const logTimeLayout = "Mon Jan 02 15:04:05 -0700 2006"

// Log is an open log file. The caller must close it.
type Log struct {
	io.Reader
	// Size is the file's length in bytes when it was opened. Offset is the offset in the file
	// at which Read begins. A caller that follows a growing log must next read from
	// offset Size on.
	Size, Offset int64
	body         io.Closer
}

// Close closes the connection to the NodeManager.
func (l *Log) Close() error { return l.body.Close() }

// OpenLog opens a log file of a container that runs or ran on the node. It reads the last tail
// bytes of the file, or the whole file if tail is 0. Reads fail after ctx has ended.
// Options.RequestTimeout limits the wait for the response and each single Read, not the
// transfer of the whole log. OpenLog fails with ErrNotFound if the file does not exist.
func (n *NodeManager) OpenLog(ctx context.Context, containerID, name string, tail int64) (*Log, error) {
	query := url.Values{}
	if tail > 0 {
		query.Set("size", strconv.FormatInt(-tail, 10))
	}
	path := pathOf(nodePath, "containerlogs", containerID, name)
	start := time.Now()
	guard := newSilenceGuard(ctx, n.client.requestTimeout)
	guard.begin()
	// Request text, because the NodeManager cannot send a log as JSON and would respond with
	// status 503.
	response, err := n.open(guard.ctx, restRequest{method: http.MethodGet, path: path, query: query, accept: "text/plain"})
	guard.end()
	if err != nil {
		if guard.ctx.Err() != nil && ctx.Err() == nil {
			err = &UnavailableError{Service: "NodeManager", Elapsed: time.Since(start),
				Attempts: []Attempt{{Address: n.base, Tries: 1, Err: context.Cause(guard.ctx)}}}
		}
		return nil, errors.Join(err, guard.Close())
	}
	guard.body = response.Body
	r := bufio.NewReader(guard)
	size, err := readLogHeader(r)
	if err != nil {
		return nil, errors.Join(&malformedError{n.base + path, err}, guard.Close())
	}
	length := size
	if tail > 0 {
		length = min(tail, size)
	}
	return &Log{Reader: &sizedReader{r: r, left: length, url: n.base + path}, Size: size, Offset: size - length, body: guard}, nil
}

// maxLogHeaderLines is the largest number of lines of a log's header. A header normally has
// seven.
const maxLogHeaderLines = 32

// readLogHeader reads the lines that the NodeManager sends before the bytes of a log
// (LogToolUtils). It returns the file's size, which is in the line LogLength. The last line of
// the header is LogContents. For an empty file the NodeManager sends only the line "End of
// LogType", which otherwise follows the log.
func readLogHeader(r *bufio.Reader) (size int64, err error) {
	size = -1
	for range maxLogHeaderLines {
		slice, err := r.ReadSlice('\n')
		line := strings.TrimSuffix(string(slice), "\n")
		if err != nil && !(errors.Is(err, io.EOF) && line != "") {
			return 0, fmt.Errorf("its header ends early: %w", err)
		}
		switch {
		case strings.HasPrefix(line, "End of LogType:"):
			return 0, nil
		case strings.HasPrefix(line, "LogLength:"):
			size, err = strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(line, "LogLength:")), 10, 64)
			if err != nil || size < 0 {
				return 0, fmt.Errorf("its header has %q", line)
			}
		case strings.HasPrefix(line, "LogContents:"):
			if size < 0 {
				return 0, errors.New("its header has no LogLength")
			}
			return size, nil
		}
	}
	return 0, errors.New("it has no header of a container's log")
}

// sizedReader reads a fixed number of bytes. It fails if the connection ends earlier.
type sizedReader struct {
	r    io.Reader
	left int64
	url  string
}

func (e *sizedReader) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > e.left {
		p = p[:e.left]
	}
	n, err := e.r.Read(p)
	e.left -= int64(n)
	if errors.Is(err, io.EOF) && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("reading the log %s: %w", e.url, err)
	}
	return n, err
}

// silenceGuard cancels a request's context if the caller waits longer than limit for the
// response or in a Read. The time between two Reads does not count.
type silenceGuard struct {
	body   io.ReadCloser // nil before the response has arrived
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  time.Duration
	timer  *time.Timer
}

func newSilenceGuard(ctx context.Context, limit time.Duration) *silenceGuard {
	g := &silenceGuard{limit: limit}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	g.timer = time.AfterFunc(limit, func() { g.cancel(fmt.Errorf("nothing came for %s", limit)) })
	g.timer.Stop()
	return g
}

func (g *silenceGuard) begin() { g.timer.Reset(g.limit) }
func (g *silenceGuard) end()   { g.timer.Stop() }

func (g *silenceGuard) Read(p []byte) (int, error) {
	g.begin()
	n, err := g.body.Read(p)
	g.end()
	if err != nil && !errors.Is(err, io.EOF) && g.ctx.Err() != nil {
		err = context.Cause(g.ctx)
	}
	return n, err
}

func (g *silenceGuard) Close() error {
	g.timer.Stop()
	g.cancel(nil)
	if g.body == nil {
		return nil
	}
	return g.body.Close()
}

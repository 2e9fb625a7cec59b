package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/storage"
)

// writeLog writes the event log of an application with one task.
func writeLog(t *testing.T, directory, id string, attempt int) {
	t.Helper()
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	log := eventlog.Start(eventlog.Options{Files: files, Directory: directory, Application: id, Attempt: attempt, Logger: slog.New(slog.DiscardHandler)})
	r := events.NewRecorder(events.Limits{}, log)
	r.Record(&events.ApplicationStarted{Time: events.At(time.Now()), ID: id, Attempt: attempt, Name: "count"})
	r.Record(&events.ExecutorRegistered{Time: events.At(time.Now()), Number: 1, ID: "1", Host: "node1", Cores: 2})
	r.Record(&events.TaskSetSubmitted{Time: events.At(time.Now()), Set: 1, Job: 1, Name: "count", Tasks: 1})
	row := events.Attempt{Set: 1, Executor: 1, Start: events.MicrosOf(time.Now())}
	hasRow := r.Launched(&row)
	row.Outcome, row.End = events.OutcomeSucceeded, row.Start+2_500_000
	r.Ended(&row, hasRow)
	r.Record(&events.ApplicationEnded{Time: events.At(time.Now()), State: events.StateFailed, Error: "no such file"})
	r.Close()
	log.Close(context.Background(), events.StateFailed, r.Snapshot())
}

func TestHistoryListsLogs(t *testing.T) {
	directory := t.TempDir()
	writeLog(t, directory, "local-1", 1)
	writeLog(t, directory, "local-1", 2)
	code, stdout, stderr := run("history", "--dir", "file://"+directory)
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?m)^APPLICATION +ATTEMPT +STATE +WRITTEN +BYTES$`, stdout)
	require.Regexp(t, `(?m)^local-1 +2 +failed +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\d+$`, stdout)

	code, stdout, stderr = run("history", "--dir", "file://"+directory, "--json")
	require.Zero(t, code, stderr)
	var logs []eventlog.Entry
	require.NoError(t, json.Unmarshal([]byte(stdout), &logs))
	require.Len(t, logs, 2)
}

func TestHistoryAsJSON(t *testing.T) {
	directory := t.TempDir()
	writeLog(t, directory, "local-1", 1)
	writeLog(t, directory, "local-1", 2)
	for _, named := range []string{"local-1", "file://" + filepath.Join(directory, "local-1.2.failed.jsonl.zst")} {
		code, stdout, stderr := run("history", "--dir", "file://"+directory, "--json", named)
		require.Zero(t, code, stderr)
		var state events.Snapshot
		require.NoError(t, json.Unmarshal([]byte(stdout), &state))
		require.Equal(t, 2, state.Application.Attempt, "the latest attempt")
		require.Equal(t, "no such file", state.Application.Error)
	}
}

func TestHistoryOfUnknownApplications(t *testing.T) {
	directory := "file://" + t.TempDir()
	code, stdout, stderr := run("history", "--dir", directory)
	require.Zero(t, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "no event logs in "+directory)
	code, _, stderr = run("history", "--dir", directory, "application_1700000000000_0001")
	require.Equal(t, client.ExitCluster, code)
	require.Contains(t, stderr, "application_1700000000000_0001 has no event log in "+directory)
}

// servedHistory serves the pages of the application or event log named, and returns a function that
// fetches a page.
func servedHistory(t *testing.T, directory, named string) (page func(query string) string) {
	t.Helper()
	h, err := openHistoryIn(terminal{console: client.NewConsole(io.Discard)}, "file://"+directory)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- h.show(ctx, terminal{stdout: writer, console: client.NewConsole(io.Discard)}, named, 0, false)
	}()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		h.close()
	})
	printed := make([]byte, 200)
	n, err := reader.Read(printed)
	require.NoError(t, err)
	return func(query string) string {
		response, err := http.Get(strings.TrimSpace(string(printed[:n])) + query)
		require.NoError(t, err)
		page, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode)
		return string(page)
	}
}

func TestHistoryServesPages(t *testing.T) {
	directory := t.TempDir()
	writeLog(t, directory, "local-1", 1)
	page := servedHistory(t, directory, "local-1")
	require.Contains(t, page(""), "no such file", "the summary is there at once")
	require.Eventually(t, func() bool { return !strings.Contains(page(""), "still being read") }, 10*time.Second, 10*time.Millisecond)
	require.Contains(t, page("?page=tasks&id=1"), "2.5 s")
}

func TestHistoryOfAKilledDriver(t *testing.T) {
	directory := t.TempDir()
	writeLog(t, directory, "local-1", 1)
	content, err := os.ReadFile(filepath.Join(directory, "local-1.1.failed.jsonl.zst"))
	require.NoError(t, err)
	cut := filepath.Join(directory, "local-2.1.running.jsonl.zst")
	require.NoError(t, os.WriteFile(cut, content[:len(content)-30], 0o600)) // cut off the end of the log with the summary
	page := servedHistory(t, directory, "file://"+cut)
	require.Contains(t, page(""), `data-live=""`)
	require.Contains(t, page(""), "no such file")

	model := events.NewModel(events.Limits{})
	model.Consume(&events.Batch{Events: []events.Event{&events.ApplicationStarted{Time: events.At(time.Unix(7, 0)), ID: "local-3"}}})
	state := eventlog.WithEnd(model.Snapshot())
	require.Equal(t, events.StateKilled, state.Application.State)
	require.True(t, time.Unix(7, 0).Equal(state.Application.Ended))
}

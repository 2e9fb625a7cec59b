package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/storage"
)

// writeLog writes the event log of an application without jobs.
func writeLog(t *testing.T, directory, id string, attempt int) {
	t.Helper()
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	log := eventlog.Start(eventlog.Options{Files: files, Directory: directory, Application: id, Attempt: attempt, Logger: slog.New(slog.DiscardHandler)})
	r := events.NewRecorder(events.Limits{}, log)
	r.Record(&events.ApplicationStarted{Time: events.At(time.Now()), ID: id, Attempt: attempt, Name: "count"})
	r.Record(&events.ApplicationEnded{Time: events.At(time.Now()), State: events.Failed, Error: "no such file"})
	r.Close()
	log.Close(context.Background(), events.Failed, r.Snapshot())
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

func TestHistoryServesPages(t *testing.T) {
	directory := t.TempDir()
	writeLog(t, directory, "local-1", 1)
	h, err := openHistory(terminal{console: client.NewConsole(io.Discard)}, "file://"+directory)
	require.NoError(t, err)
	defer h.close()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- h.show(ctx, terminal{stdout: writer, console: client.NewConsole(io.Discard)}, "local-1", 0, false)
	}()
	printed := make([]byte, 200)
	n, err := reader.Read(printed)
	require.NoError(t, err)
	response, err := http.Get(strings.TrimSpace(string(printed[:n])))
	require.NoError(t, err)
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Contains(t, string(page), "no such file")
	http.DefaultClient.CloseIdleConnections()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

package main

import (
	"bufio"
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
	"github.com/bobbin-yarn/bobbin/internal/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/storage"
)

// writeEventLog writes the log of an application with one task into a directory.
func writeEventLog(t *testing.T, directory, application string, attempt int, state string) {
	t.Helper()
	files := storage.New(storage.Options{})
	log := eventlog.Start(eventlog.Options{Files: files, Directory: "file://" + directory, Application: application, Attempt: attempt, Logger: slog.New(slog.DiscardHandler)})
	recorder := events.NewRecorder(events.Limits{}, log)
	begin := events.At(time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC))
	recorder.Record(&events.ApplicationStarted{Time: begin, ID: application, Attempt: attempt, Name: "nightly counts"})
	recorder.Record(&events.ExecutorRegistered{Time: begin, Number: 1, ID: "1", Host: "node1", Cores: 2})
	recorder.Record(&events.TaskSetSubmitted{Time: begin, Set: 1, Job: 1, Name: "count", Tasks: 1})
	row := events.Attempt{Set: 1, Executor: 1, Start: events.MicrosOf(begin.Time)}
	hasRow := recorder.Launched(&row)
	row.Outcome, row.End = events.AttemptSucceeded, row.Start+2_500_000
	recorder.Ended(&row, hasRow)
	recorder.Record(&events.ApplicationEnded{Time: begin, State: state})
	recorder.Close()
	log.Close(t.Context(), state, recorder.Snapshot())
	require.NoError(t, files.Close())
}

func TestHistoryListsEventLogs(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", "")
	directory := t.TempDir()
	logs := "file://" + directory
	writeEventLog(t, directory, "application_1_0001", 1, events.Failed)
	writeEventLog(t, directory, "application_1_0001", 2, events.Succeeded)
	code, stdout, _ := run("history", "--dir", logs)
	require.Equal(t, client.ExitSuccess, code)
	require.Regexp(t, `^APPLICATION +ATTEMPT +STATE +WRITTEN +BYTES\n(application_1_0001 +[12] +(failed|succeeded) .*\n){2}$`, stdout)
	code, stdout, _ = run("history", "--dir", logs, "--json")
	require.Equal(t, client.ExitSuccess, code)
	var listed []eventlog.Entry
	require.NoError(t, json.Unmarshal([]byte(stdout), &listed))
	require.Len(t, listed, 2)

	code, _, stderr := run("history", "--dir", logs, "application_1_0002")
	require.Equal(t, client.ExitFailed, code)
	require.Contains(t, stderr, "application_1_0002 has no event log in "+logs)
	code, _, stderr = run("history")
	require.Equal(t, client.ExitUsage, code)
	require.Contains(t, stderr, "--dir file:///…")
}

func TestHistoryServesPages(t *testing.T) {
	directory := t.TempDir()
	writeEventLog(t, directory, "application_1_0001", 1, events.Succeeded)
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	entries, err := eventlog.List(t.Context(), files, "file://"+directory)
	require.NoError(t, err)
	require.Len(t, entries, 1)

	serve := func(entry eventlog.Entry) (address string, stop func() error) {
		ctx, cancel := context.WithCancel(t.Context())
		reader, writer := io.Pipe()
		served := make(chan error, 1)
		go func() {
			served <- terminal{stdout: writer, console: client.NewConsole(io.Discard)}.serveHistory(ctx, files, entry, 0)
			_ = writer.Close() // never fails
		}()
		line, err := bufio.NewReader(reader).ReadString('\n')
		require.NoError(t, err)
		return strings.TrimSpace(line), func() error { cancel(); return <-served }
	}
	page := func(address string) string {
		answer, err := http.Get(address)
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }() // it was only read
		content, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return string(content)
	}
	address, stop := serve(entries[0])
	require.Contains(t, page(address), "nightly counts", "the summary is there at once")
	require.Eventually(t, func() bool { return !strings.Contains(page(address), "still being read") }, 10*time.Second, 10*time.Millisecond)
	require.Contains(t, page(address+"?page=tasks&id=1"), "2.5 s")
	require.NoError(t, stop())

	// The driver was killed: the log is cut off and has no summary.
	content, err := os.ReadFile(strings.TrimPrefix(entries[0].Path, "file://"))
	require.NoError(t, err)
	cut := filepath.Join(directory, "application_1_0002.1.running.jsonl.zst")
	require.NoError(t, os.WriteFile(cut, content[:len(content)-100], 0o600))
	address, stop = serve(eventlog.Entry{Path: "file://" + cut})
	require.Eventually(t, func() bool { return strings.Contains(page(address), "The event log has no end") || strings.Contains(page(address), "succeeded") }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, stop())

	require.NoError(t, os.WriteFile(cut, []byte("no log"), 0o600))
	failing := terminal{stdout: io.Discard, console: client.NewConsole(io.Discard)}
	require.ErrorContains(t, failing.serveHistory(t.Context(), files, eventlog.Entry{Path: "file://" + cut}, 0), cut)
}

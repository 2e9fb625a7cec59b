package role

import (
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
)

func TestPagesForThePersonWhoFollows(t *testing.T) {
	recorder := events.NewRecorder(events.Limits{})
	defer recorder.Close()
	recorder.Record(&events.ApplicationStarted{Time: events.At(time.Now()), Name: "nightly counts"})
	d, err := driver.New(driver.Options{Events: recorder})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Stop(t.Context())) }()
	followed := &terminal{console: client.NewConsole(io.Discard)}
	with := func(settings map[string]string, terminal *terminal) *Application {
		values, err := config.FromMap(settings)
		require.NoError(t, err)
		return &Application{Settings: values, Driver: d, Logger: slog.New(slog.DiscardHandler), terminal: terminal}
	}
	onCluster := func(settings map[string]string) (string, func()) {
		a := with(settings, logOnly(slog.New(slog.DiscardHandler)))
		a.host, a.bind = "localhost", "127.0.0.1"
		return a.servePagesOnCluster()
	}
	url, stop := with(nil, followed).servePages()
	fromOutside, stopServing := onCluster(nil)
	require.Regexp(t, `^http://localhost:\d+/[A-Z2-7]{26}/$`, fromOutside)
	require.Eventually(t, func() bool { // the server may reuse a snapshot for half a second
		answer, err := http.Get(url)
		require.NoError(t, err)
		page, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return strings.Contains(string(page), "nightly counts")
	}, 10*time.Second, 10*time.Millisecond)
	for path, says := range map[string]string{
		"": "nightly counts", "metrics": "\nbobbin_executors_lost_total 0\n", "api/profile?type=heap&seconds=1": "no executor is registered",
		"?page=profile&type=heap&seconds=1&driver=true": "go tool pprof",
	} {
		for _, pages := range []string{url, fromOutside} {
			answer, err := http.Get(pages + path)
			require.NoError(t, err)
			content, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Contains(t, string(content), says, path)
		}
	}
	stop()
	stopServing()
	for _, pages := range []string{url, fromOutside} {
		_, err = http.Get(pages)
		require.Error(t, err)
	}

	for name, without := range map[string]*Application{
		"turned off":              with(map[string]string{"ui.enabled": "false"}, followed),
		"on a worker":             with(nil, logOnly(slog.New(slog.DiscardHandler))),
		"in an ApplicationMaster": with(nil, nil),
		"no such port":            with(map[string]string{"ui.port": "99999"}, followed),
	} {
		url, stop := without.servePages()
		require.Empty(t, url, name)
		stop()
	}
	for _, settings := range []map[string]string{{"ui.enabled": "false"}, {"acls.enable": "true", "ui.view.acls": "ann"}} {
		url, stop := onCluster(settings)
		require.Empty(t, url, settings)
		stop()
	}
}

// blocker is a listener that blocks the driver's event loop until it is released.
type blocker struct {
	driver.Listener
	blocks, release chan struct{}
}

func (b blocker) Ended(error) {
	close(b.blocks)
	<-b.release
}

// TestPagesDoNotWaitForTheDriversLoop opens all pages while the driver's event loop is blocked.
func TestPagesDoNotWaitForTheDriversLoop(t *testing.T) {
	recorder := events.NewRecorder(events.Limits{})
	defer recorder.Close()
	d, err := driver.New(driver.Options{Events: recorder})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Stop(t.Context())) }()
	a := &Application{Settings: config.Default(), Driver: d, Logger: slog.New(slog.DiscardHandler), terminal: &terminal{console: client.NewConsole(io.Discard)}}
	url, stop := a.servePages()
	defer stop()
	loop := blocker{blocks: make(chan struct{}), release: make(chan struct{})}
	defer close(loop.release)
	submission, err := d.Submit(driver.TaskSet{Name: "waits", Function: "none", Tasks: make([]driver.Task, 1), CPUs: 1}, loop)
	require.NoError(t, err)
	id := strconv.FormatUint(submission.ID(), 10)
	submission.Cancel(driver.ErrCancelled)
	<-loop.blocks
	recorder.Newest() // from here on pages know the job
	for _, query := range []string{
		"overview", "jobs", "job&id=" + id, "stage&id=" + id, "tasks&id=" + id, "task&set=" + id + "&index=0", "executors", "stream", "steps", "storage", "settings", "events",
	} {
		answer, err := http.Get(url + "?page=" + query)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode, query)
	}
}

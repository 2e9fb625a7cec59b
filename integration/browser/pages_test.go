//go:build integration

package browser

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
	"github.com/bobbin-yarn/bobbin/internal/ui"
	"github.com/bobbin-yarn/bobbin/internal/ui/uitest"
)

// open starts a browser, which is closed when the test ends.
func open(t *testing.T) *Browser {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b, err := Start(ctx, DesktopWidth, DesktopHeight)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

// serve starts a server for the pages of an application whose state snapshot returns. It
// returns the server's URL.
func serve(t *testing.T, snapshot func() *events.Snapshot) string {
	t.Helper()
	server, err := ui.ServeLocally(0, ui.New(ui.Options{
		Snapshot: snapshot, Streams: true, Now: func() time.Time { return uitest.Later },
		Kill:    &ui.Kill{User: func(*http.Request) (string, bool) { return "ann", true }},
		Profile: func(context.Context, profiling.Request) ([]byte, error) { return uitest.Profile() },
	}), nil)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server.URL()
}

// TestHostileNames opens all pages of an application whose jobs, hosts, errors, files and users
// have hostile names. If a page did not escape a name, the name would run a script, load a file
// or hide text.
func TestHostileNames(t *testing.T) {
	b := open(t)
	all := uitest.Snapshot(uitest.Busy(func(name string) string { return strings.Join(uitest.Hostile, " ") + name }))
	hostile := serve(t, func() *events.Snapshot { return all })
	for name, query := range uitest.EveryPage {
		if query == "" {
			query = "page=overview"
		}
		require.NoError(t, b.CheckPage(t.Context(), hostile, "?"+query, nil), name)
	}
	require.NoError(t, b.CheckPage(t.Context(), hostile, ProfilePage, nil))
}

// TestPages opens all pages in both colour schemes.
func TestPages(t *testing.T) {
	b := open(t)
	batch := uitest.Busy(uitest.Plain)
	address := serve(t, func() *events.Snapshot { return uitest.Snapshot(batch) })
	for _, scheme := range []string{"light", "dark"} {
		require.NoError(t, b.SetColorScheme(t.Context(), scheme))
		for name, query := range uitest.EveryPage {
			if query == "" {
				query = "page=overview"
			}
			require.NoError(t, b.CheckPage(t.Context(), address, "?"+query, nil), "%s, %s", name, scheme)
		}
		require.NoError(t, b.CheckPage(t.Context(), address, ProfilePage, nil), scheme)
	}
}

// TestKeyboard checks that the Tab key reaches every control of a page.
func TestKeyboard(t *testing.T) {
	b := open(t)
	state := uitest.Snapshot(uitest.Busy(uitest.Plain))
	require.NoError(t, b.Open(t.Context(), serve(t, func() *events.Snapshot { return state })+"?page=stream"))
	reached := map[string]bool{}
	for range 60 {
		require.NoError(t, b.Press(t.Context(), "Tab"))
		var focused struct {
			Name    string
			Visible bool
		}
		require.NoError(t, b.Evaluate(t.Context(), `(() => {
			const e = document.activeElement, box = e.getBoundingClientRect();
			return { name: e.nodeName === "CANVAS" ? "canvas" : e.getAttribute("role") || e.textContent, visible: e === document.body || getComputedStyle(e).outlineStyle !== "none" && box.right > 0 };
		})()`, &focused))
		assert.True(t, focused.Visible, "it is not shown that %q has the focus", focused.Name)
		reached[focused.Name] = true // after the last control, the body has the focus
	}
	for _, name := range []string{"Skip to the content", "Overview", "Executors", "Zoom in", "canvas", "region", "Kill the application"} {
		assert.Contains(t, reached, name)
	}
}

// TestProgressIsShownAtOnce checks that a page shows progress soon after the event. No proxy is
// between the server and the browser.
func TestProgressIsShownAtOnce(t *testing.T) {
	const tasks = 10
	b := open(t)
	recorder := events.NewRecorder(events.LiveLimits)
	defer recorder.Close()
	recorder.Record(&events.ApplicationStarted{Time: events.At(time.Now()), ID: "application_1_0001", Name: "counts"})
	recorder.Record(&events.TaskSetSubmitted{Time: events.At(time.Now()), Set: 1, Job: 1, Name: "count", Tasks: tasks})
	address := serve(t, recorder.Snapshot)
	require.NoError(t, b.Open(t.Context(), address))
	shows := func(text string) func() bool {
		return func() bool {
			var page string
			require.NoError(t, b.Evaluate(t.Context(), "document.body.innerText", &page))
			return strings.Contains(page, text)
		}
	}
	require.Eventually(t, shows("0 of 10 tasks done"), 10*time.Second, 20*time.Millisecond)
	require.Eventually(t, shows("Live."), 10*time.Second, 20*time.Millisecond)
	// On a busy machine the browser can be slow several times. One fast update is enough.
	soonest := time.Hour
	for done := uint32(1); done <= 2 || done <= tasks && soonest > time.Second; done++ {
		now := events.MicrosOf(time.Now())
		recorder.Ended(&events.Attempt{Set: 1, Task: done, Outcome: events.OutcomeSucceeded, Start: now, End: now}, true)
		began := time.Now()
		require.Eventually(t, shows(fmt.Sprintf("%d of %d tasks done", done, tasks)), 10*time.Second, 20*time.Millisecond)
		soonest = min(soonest, time.Since(began))
	}
	assert.Less(t, soonest, time.Second)
}

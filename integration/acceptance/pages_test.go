//go:build integration

package acceptance

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/browser"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// openBrowser starts a browser as wide as a desktop's window.
func openBrowser(t *testing.T) *browser.Browser {
	t.Helper()
	starting, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	b, err := browser.Start(starting, 1280, 900)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

// assertPage opens a page and checks that it is whole: it was not redirected, loaded its
// style and its script, requested nothing outside of prefix, complained about nothing, and
// fits into a narrow window.
func assertPage(t *testing.T, b *browser.Browser, prefix, query string) {
	t.Helper()
	address := prefix + query
	require.NoError(t, b.Resize(t.Context(), 1280, 900))
	require.NoError(t, b.Open(t.Context(), address))
	var seen struct {
		Address, Title, Nav, Border string
		Live                        string
	}
	require.NoError(t, b.Evaluate(t.Context(), `({
		address: location.href, title: document.querySelector("h1").textContent, nav: document.querySelector("nav a[aria-current]").textContent,
		border: getComputedStyle(document.querySelector("header")).borderBottomStyle, live: document.documentElement.dataset.live,
	})`, &seen))
	assert.Equal(t, address, seen.Address)
	assert.NotEqual(t, "Not found", seen.Title, address)
	assert.NotEmpty(t, seen.Nav, address)
	assert.Equal(t, "solid", seen.Border, "the style sheet is used")
	assert.NotEmpty(t, seen.Live, address)
	for _, request := range b.Requests() {
		assert.True(t, strings.HasPrefix(request, prefix+"?") || request == prefix, "%s requests %s", address, request)
	}
	assert.GreaterOrEqual(t, len(b.Requests()), 3, "the page, its style and its script")
	assert.Empty(t, b.Problems(), address)
	takePicture(t, b, query+"-desktop")

	require.NoError(t, b.Resize(t.Context(), 360, 740))
	var width float64
	require.NoError(t, b.Evaluate(t.Context(), "document.documentElement.scrollWidth", &width))
	assert.LessOrEqual(t, width, 360., "%s is too wide for a phone", address)
	takePicture(t, b, query+"-phone")
}

// takePicture writes what the browser shows into the directory BOBBIN_TEST_PICTURES.
func takePicture(t *testing.T, b *browser.Browser, name string) {
	t.Helper()
	directory := os.Getenv("BOBBIN_TEST_PICTURES")
	if directory == "" {
		return
	}
	picture, err := b.Picture(t.Context())
	require.NoError(t, err)
	name = strings.NewReplacer("?page=", "", "&", "-", "=", "-").Replace(name)
	require.NoError(t, os.WriteFile(filepath.Join(directory, "page-"+name+".png"), picture, 0o644))
}

func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	first, second := output(t)+"-first", output(t)+"-second"
	running, id := shared.submit(t, "--num-executors", "2", "--name", `<b>"waves"`, program("trouble"), "waves", "3", first, second)
	status := awaitTasks(t, id, 2)
	require.Len(t, status.TaskSets, 1)
	job := fmt.Sprint(status.TaskSets[0].ID)
	b := openBrowser(t)
	rm := "http://" + shared.hadoop.ResourceManager().Address(cluster.HTTP)
	proxied := rm + "/proxy/" + id
	for _, prefix := range []string{proxied, proxied + "/"} {
		for _, query := range []string{
			"", "?page=overview", "?page=stream", "?page=jobs", "?page=job&id=" + job, "?page=stage&id=" + job, "?page=tasks&id=" + job, "?page=task&set=" + job + "&index=0",
			"?page=executors", "?page=executor&id=" + status.Details[0].ID, "?page=storage", "?page=settings", "?page=events",
		} {
			assertPage(t, b, prefix, query)
		}
	}

	// The page shows progress without being loaded again.
	require.NoError(t, b.Open(t.Context(), proxied+"?page=job&id="+job))
	require.NoError(t, b.Evaluate(t.Context(), `window.kept = true`, nil))
	shown := func(text string) func(context.Context) bool {
		return func(ctx context.Context) bool {
			var page string
			var kept bool
			require.NoError(t, b.Evaluate(ctx, "document.body.innerText", &page))
			require.NoError(t, b.Evaluate(ctx, "window.kept === true", &kept))
			require.True(t, kept)
			return strings.Contains(page, text)
		}
	}
	require.True(t, shown("0 of 3 tasks done")(t.Context()))
	require.NoError(t, shared.put(t.Context(), first, nil))
	shared.awaitStatus(t, id, "all tasks are done", func(status page.Status) bool { return status.Tasks.Done == 3 })
	done := time.Now()
	await(t, "the page shows that all tasks are done", shown("3 of 3 tasks done"))
	assert.Less(t, time.Since(done), 5*time.Second)
	assert.Empty(t, b.Problems())

	// A page kills the application, and nothing else does.
	for name, send := range map[string]func() (*http.Request, error){
		"by GET": func() (*http.Request, error) { return http.NewRequest(http.MethodGet, proxied+"?action=kill", nil) },
		"with a wrong token": func() (*http.Request, error) {
			return http.NewRequest(http.MethodPut, proxied+"?action=kill", strings.NewReader(strings.Repeat("0", 64)))
		},
		"from a foreign origin": func() (*http.Request, error) {
			var token string
			require.NoError(t, b.Evaluate(t.Context(), `document.getElementById("kill").dataset.token`, &token))
			request, err := http.NewRequest(http.MethodPut, proxied+"?action=kill", strings.NewReader(token))
			if err == nil {
				request.Header.Set("Origin", "http://elsewhere.example")
			}
			return request, err
		},
	} {
		request, err := send()
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		if request.Method == http.MethodPut {
			assert.Equal(t, http.StatusForbidden, answer.StatusCode, name)
		}
	}
	assert.Equal(t, yarnrest.StateRunning, application(t, id).State)
	require.NoError(t, b.Evaluate(t.Context(), `document.getElementById("kill").click()`, nil))
	ended := running.wait(t)
	assert.Equal(t, 1, ended.code)
	assert.Contains(t, ended.lastLine(), id+" was killed by user ")
	assert.Equal(t, yarnrest.StatusKilled, application(t, id).FinalStatus)
	assertNothingLeft(t, id)
}

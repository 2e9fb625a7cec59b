//go:build integration

package acceptance

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/eventlog/historyserver"
	"github.com/bobbin-yarn/bobbin/integration/browser"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// openBrowser starts a browser with a window as wide as a desktop's.
func openBrowser(t *testing.T) *browser.Browser {
	t.Helper()
	starting, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	b, err := browser.Start(starting, browser.DesktopWidth, browser.DesktopHeight)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

// assertPage opens a page and checks its layout; see [browser.Browser.CheckPage].
func assertPage(t *testing.T, b *browser.Browser, prefix, query string) {
	t.Helper()
	assert.NoError(t, b.CheckPage(t.Context(), prefix, query, func(window string) error {
		takePicture(t, b, query+"-"+window)
		return nil
	}))
}

// assertLive checks that the open page updates itself.
func assertLive(t *testing.T, b *browser.Browser) {
	t.Helper()
	var live string
	require.NoError(t, b.Evaluate(t.Context(), "document.documentElement.dataset.live", &live))
	assert.NotEmpty(t, live)
}

// takePicture writes a screenshot of the open page to the directory in the environment variable
// BOBBIN_TEST_PICTURES. It does nothing if the variable is not set.
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

// textOf returns the text of the open page.
func textOf(t *testing.T, b *browser.Browser) (text string) {
	t.Helper()
	require.NoError(t, b.Evaluate(t.Context(), "document.body.innerText", &text))
	return text
}

var driverPagesLine = regexp.MustCompile(`(?m)^pages(?: of the driver)?: (\S+)$`)

// TestPagesInClientMode opens the pages of the driver, and the pages of the ApplicationMaster,
// which have no data about single tasks.
func TestPagesInClientMode(t *testing.T) {
	t.Parallel()
	first, second := outputPath(t)+"-first", outputPath(t)+"-second"
	running := startInClientMode(t, clientModes["attended"], "--num-executors", "2", program("trouble"), "cached", "3", first, second)
	id := running.clientModeID(t)
	status := awaitStatus(t, id, "the data set is stored, and tasks wait", func(status page.Status) bool {
		return status.Tasks.Done == 4 && status.Tasks.Running >= 2
	})
	found := driverPagesLine.FindStringSubmatch(running.stderr.String())
	require.NotNil(t, found, running.stderr.String())
	own, proxied := found[1], "http://"+shared.hadoop.ResourceManager().Address(cluster.HTTP)+"/proxy/"+id+"/"
	job := fmt.Sprint(status.TaskSets[len(status.TaskSets)-1].ID)
	b := openBrowser(t)
	for _, prefix := range []string{own, proxied} {
		awaitLink(t, prefix+"?page=jobs", regexp.MustCompile("id=("+job+`)&amp;page=job"`)) // pages can be older than the status
		for _, query := range []string{"?page=overview", "?page=job&id=" + job, "?page=executors", "?page=executor&id=" + status.Details[0].ID, "?page=settings", "?page=events"} {
			assertPage(t, b, prefix, query)
			assertLive(t, b)
		}
		assert.Regexp(t, `Executor allocated\s+Executor 1 on`, textOf(t, b), "the driver records what the ApplicationMaster knows")
	}
	awaitLink(t, own+"?page=tasks&id="+job, taskLink)
	for _, query := range []string{"?page=stream", "?page=tasks&id=" + job, "?page=task&set=" + job + "&index=0", "?page=jobs"} {
		assertPage(t, b, own, query)
	}
	require.NoError(t, shared.put(t.Context(), first, nil))
	shared.awaitStatus(t, id, "all tasks are done", func(status page.Status) bool { return status.Tasks.Done == 7 })
	await(t, "the page shows that all tasks are done", func(context.Context) bool { return strings.Contains(textOf(t, b), "3 / 3") })
	assert.Empty(t, b.Problems())
	assertPage(t, b, own, "?page=storage")
	cached := textOf(t, b)
	assert.Regexp(t, `memory\s+4 / 4\s+[12]\s+\d+ KiB`, cached, "the data set's partitions")
	assert.Regexp(t, `By executor\s+Id\s+Executor\s+Partitions\s+In memory\s+\d+\.\d+\s+[12]\s+\d\s+\d+(\.\d)? KiB`, cached)
	require.NoError(t, shared.put(t.Context(), second, nil))
	ended := running.wait(t)
	assert.Equal(t, 0, ended.code)
	assert.Regexp(t, `cost most +.*waiting for executors|\n +waiting for executors`, ended.stderr)
	assertNothingLeft(t, id)
}

// hostileName is an application name with a script. A page that does not escape the name runs
// the script.
const hostileName = `<b onclick="x()">"hold"</b><script>document.title = "pwned"</script><img src=x onerror='document.title = "pwned"'>`

// jobOfGates is a job file whose tasks wait until files exist in the directory GATES. The tasks
// of the first step wait for a file each.
const jobOfGates = `
resources: {executors: {instances: 2, memory: 256m, cores: 2}}
steps:
  gates: {command: 'until test -e "$GATES/$TASK_INDEX"; do sleep 0.05; done', tasks: 8, environment: {GATES: %[1]q}}
  last: {needs: [gates], command: 'until test -e "$GATES/last"; do sleep 0.05; done', environment: {GATES: %[1]q}}
`

// gatesTasks is the number of tasks of the first step of jobOfGates.
const gatesTasks = 8

// startGates starts a job of jobOfGates. open creates the file with the given name in GATES.
func startGates(t *testing.T, args ...string) (running *submitted, open func(name string)) {
	t.Helper()
	gates := t.TempDir()
	directory := workingDirectory(t, map[string]string{"job.yaml": fmt.Sprintf(jobOfGates, gates)})
	running = commandLine{args: append([]string{"run", "job.yaml"}, args...), directory: directory}.start(t)
	return running, func(name string) { require.NoError(t, os.WriteFile(filepath.Join(gates, name), nil, 0o644)) }
}

var (
	jobLink      = regexp.MustCompile(`id=(\d+)&amp;page=job"`)
	taskLink     = regexp.MustCompile(`index=(\d+)&amp;page=task`)
	executorLink = regexp.MustCompile(`id=(\w+)&amp;page=executor"`)
)

// awaitLink waits until a page has a link, and returns the id to which the link leads.
func awaitLink(t *testing.T, url string, link *regexp.Regexp) (id string) {
	t.Helper()
	await(t, url+" has the link "+link.String(), func(context.Context) bool {
		found := link.FindStringSubmatch(pageAt(t, url))
		if found != nil {
			id = found[1]
		}
		return found != nil
	})
	return id
}

// assertRunningPages opens all pages of an application that runs jobOfGates.
func assertRunningPages(t *testing.T, b *browser.Browser, prefix string) {
	t.Helper()
	job, executor := awaitLink(t, prefix+"?page=jobs", jobLink), awaitLink(t, prefix+"?page=executors", executorLink)
	awaitLink(t, prefix+"?page=tasks&id="+job, taskLink) // an executor runs a task, and can be profiled
	for _, query := range browser.Pages(job, executor) {
		assertPage(t, b, prefix, query)
		assertLive(t, b)
	}
	assertPage(t, b, prefix, browser.ProfilePage)
}

// assertProgress opens the gates of jobOfGates one by one until the open page, that of the job,
// shows one of the ends of tasks within the limit. On a busy machine single updates are slow.
// Then it opens the others, and waits until the page shows that all tasks are done. The page
// must not be reloaded.
func assertProgress(t *testing.T, b *browser.Browser, limit time.Duration, open func(name string)) {
	t.Helper()
	shows := func(done int) func(context.Context) bool {
		return func(ctx context.Context) bool {
			var kept bool
			require.NoError(t, b.Evaluate(ctx, "window.kept === true", &kept))
			require.True(t, kept)
			return strings.Contains(textOf(t, b), fmt.Sprintf("%d of %d tasks done", done, gatesTasks))
		}
	}
	require.NoError(t, b.Evaluate(t.Context(), `window.kept = true`, nil))
	await(t, "the page shows that no task is done", shows(0))
	soonest := time.Hour
	for task := range gatesTasks {
		began := time.Now()
		open(fmt.Sprint(task))
		if task < 2 || soonest > limit {
			await(t, "the page shows that a task is done", shows(task+1))
			soonest = min(soonest, time.Since(began))
		}
	}
	assert.LessOrEqual(t, soonest, limit)
	await(t, "the page shows that all tasks are done", shows(gatesTasks))
	assert.Empty(t, b.Problems())
}

// TestPagesOfADriverOnThisMachine opens the pages at the driver's own server.
func TestPagesOfADriverOnThisMachine(t *testing.T) {
	t.Parallel()
	for name, master := range map[string][]string{
		"YARN": {"--deploy-mode", "client"}, "local": {"--master", "local[2]"}, "standalone": {"--master", "local-cluster[2,2,1024]"},
	} {
		t.Run(name, func(t *testing.T) {
			running, open := startGates(t, master...)
			var own string
			await(t, "the driver says where its pages are", func(context.Context) bool {
				if found := driverPagesLine.FindStringSubmatch(running.stderr.String()); found != nil {
					own = found[1]
				}
				return own != ""
			})
			b := openBrowser(t)
			assertRunningPages(t, b, own)
			require.NoError(t, b.Open(t.Context(), own+"?page=job&id="+awaitLink(t, own+"?page=jobs", jobLink)))
			assertProgress(t, b, time.Second, open)
			open("last")
			assert.Equal(t, 0, running.wait(t).code)
		})
	}
}

func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	logs := historyserver.New(historyserver.Options{Files: shared.files, Directory: home(t) + "/.bobbin/history", Logger: slog.New(slog.DiscardHandler)})
	team := httptest.NewServer(logs)
	t.Cleanup(func() {
		team.Close()
		logs.Close()
	})
	report := filepath.Join(t.TempDir(), "report.html")
	running, open := startGates(t, "--name", hostileName, "--report", report, "--conf", "yarn.historyServer.address="+team.URL)
	id := running.applicationID(t)
	status := awaitTasks(t, id, 4)
	require.Len(t, status.TaskSets, 1)
	job := fmt.Sprint(status.TaskSets[0].ID)
	b := openBrowser(t)
	proxied := "http://" + shared.hadoop.ResourceManager().Address(cluster.HTTP) + "/proxy/" + id
	for _, prefix := range []string{proxied, proxied + "/"} {
		assertPage(t, b, prefix, "")
		assertRunningPages(t, b, prefix)
	}

	require.NoError(t, b.Open(t.Context(), proxied+"?page=settings"))
	assert.Regexp(t, `executor\.instances\s+2\s+job\.yaml:2:\d+\s`, textOf(t, b))

	// A goroutine profile is also shown as a page. This page does not update itself.
	require.NoError(t, b.Resize(t.Context(), 1280, 900))
	require.NoError(t, b.Open(t.Context(), proxied+"?page=profile&type=goroutine&seconds=1"))
	var dump, fill string
	require.NoError(t, b.Evaluate(t.Context(), `document.querySelector("#goroutines pre").textContent`, &dump))
	require.NoError(t, b.Evaluate(t.Context(), `getComputedStyle(document.querySelector(".flame rect")).fill`, &fill))
	assert.Contains(t, dump, "executorbackend.")
	assert.NotEqual(t, "rgb(0, 0, 0)", fill, "the policy admits the colors")
	assert.Empty(t, b.Problems())
	takePicture(t, b, "profile")

	require.NoError(t, b.Open(t.Context(), proxied+"?page=job&id="+job))
	assertProgress(t, b, 3*time.Second, open)

	// Only a request from the page, with method PUT and the page's token, may kill the
	// application.
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
	assertPagesAfterTheEnd(t, b, proxied, team.URL+"/"+id+"/1/", job)
	assertReport(t, b, report)
}

// assertPagesAfterTheEnd checks that the tracking URL of a finished application leads to its
// pages at the history server, and that the history server shows each of these pages.
func assertPagesAfterTheEnd(t *testing.T, b *browser.Browser, link, pages, job string) {
	t.Helper()
	require.NoError(t, b.Open(t.Context(), link))
	var address, title, state string
	require.NoError(t, b.Evaluate(t.Context(), "location.href", &address))
	assert.Equal(t, pages, strings.TrimSuffix(address, "?"))
	for _, query := range browser.Pages(job, awaitLink(t, pages+"?page=executors", executorLink)) {
		assertPage(t, b, pages, query)
		require.NoError(t, b.Evaluate(t.Context(), "document.title", &title))
		assert.True(t, strings.HasSuffix(title, ": "+hostileName), title)
		require.NoError(t, b.Evaluate(t.Context(), `document.querySelector(".state").textContent`, &state))
		assert.Equal(t, "killed", state)
	}
}

// assertReport opens a report as a local file, and from a server whose Content-Security-Policy
// forbids scripts, styles and further requests. It checks that the script in hostileName does
// not run and that the text is readable.
func assertReport(t *testing.T, b *browser.Browser, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	strict := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(content)
	}))
	defer strict.Close()
	for _, address := range []string{"file://" + path, strict.URL + "/"} {
		for _, width := range []int{1280, 360} {
			require.NoError(t, b.Resize(t.Context(), width, 900))
			require.NoError(t, b.Open(t.Context(), address))
			var seen struct {
				Title, Text, Number, Border string
				Bar                         string
				Progress                    float64
			}
			require.NoError(t, b.Evaluate(t.Context(), `({
				title: document.title, text: document.body.innerText,
				number: getComputedStyle(document.querySelector("td[align=right]")).textAlign,
				border: getComputedStyle(document.querySelector(".scroll td")).borderBottomStyle,
				bar: getComputedStyle(document.querySelector("svg rect:last-of-type") || document.body).fill,
				progress: document.querySelector("progress").getBoundingClientRect().width,
			})`, &seen))
			assert.Equal(t, hostileName+": killed", seen.Title)
			for _, text := range []string{hostileName, "8 of 9 tasks done", "Executors", "yarn.historyServer.address", "Job submitted"} {
				assert.Contains(t, seen.Text, text)
			}
			assert.Contains(t, seen.Number, "right")
			assert.Contains(t, []string{"solid", "inset"}, seen.Border)
			assert.Equal(t, "rgb(76, 142, 217)", seen.Bar)
			assert.Greater(t, seen.Progress, 20.)
			requests := b.Requests()
			assert.Subset(t, []string{address, strict.URL + "/favicon.ico"}, requests, "it loads nothing")
			for _, problem := range b.Problems() {
				assert.Contains(t, problem, "inline style", "only the style sheet is missing")
				assert.NotContains(t, address, "file://")
			}
			takePicture(t, b, fmt.Sprintf("report-%s-%d", address[:4], width))
		}
	}
}

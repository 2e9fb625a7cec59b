package ui

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/ui/uitest"
)

func TestPagesSay(t *testing.T) {
	pages := of(snapshotOf(busy(plain)))
	for page, says := range map[string][]string{
		"overview": {
			"nightly counts", "application_1_0007", "attempt 1", "ann", "running", "Cores busy", "3 of 12", "Executors registered", "3 of 6", "Cores wanted 24",
			"Waits: waiting no executor has 8 cores: raise executor.cores", "Note: yarn.exclude.nodes leaves two nodes", "49 of 59 tasks done",
			"3 attempts failed, most of them with: cannot open part-0", "The last one: executor 4 on node1.example: killed by YARN: beyond its memory",
			"Slow: Task 1 of reduce runs for 8 min 25 s", "Steps 1 of 3 ended", "count words",
		},
		"jobs":            {"load words from the archive", "nightly", "urgent", "40 / 40", "broken failed task 3 failed 4 times"},
		"job":             {"Job 1: load words", "40 of 40 tasks done", "Skew: the slowest task took 25.0 s", "Least 25 % Median 75 % 95 % Most", "node 40", "words 123 456", "Slowest tasks", "39.0 MiB"},
		"job with stages": {"Job 2: count words", "map succeeded", "sort 4 waiting, or its output is there", "8 000", "40.0 MiB", "cannot open part-0"},
		"job that waits":  {"Waits: no executor has 8 cores", "No task is done."},
		"failed job":      {"Ended: task 3 failed 4 times"},
		"stage":           {"Stage 4: reduce", "1 of 8 tasks done, 3 running", "Longest running", "cannot open part-0", "node2.example (3)"},
		"task set":        {"Task set 1: load words", "All attempts"},
		"tasks":           {"Attempts of task set 1: load words", "0 0 succeeded 1 node1.example node", "stderr"},
		"task":            {"Task 5 of stage 4: reduce", "Why attempt 0 failed", "cannot open part-0", "main.load /src/main.go:12", "The end of the executor's log at this time: level=ERROR msg=part", "stderr"},
		"executors":       {"Wanted 6", "Allocated 1", "Registered 2", "Decommissioning 1", "Lost 1", "killed by YARN: beyond its memory", "the node is being decommissioned", "+1.5 s", "1.6 GiB", "Excluded after failures", "gpu 1"},
		"executor":        {"Executor 1", "container_1_0007_01_000001", "Memory limit 2.4 GiB", "Memory at most 1.6 GiB", "stderr", "heap profile"},
		"lost executor":   {"Why: killed by YARN: beyond its memory"},
		"steps":           {"load words succeeded", "40 / 40", "waiting running no executor has 8 cores: raise executor.cores 0 / 3", "publish waiting waiting 0 / 5"},
		"storage":         {"words", "memory", "6 / 8", "130 MiB", "rdd-1 2 2 30.0 MiB"},
		"settings":        {"executor.memory 2g job.yaml:3:10", "Mode cluster", "Go go1.26"},
		"events":          {"Job submitted", "Task set 7 reduce with 8 tasks", "Executor 4 killed by YARN: beyond its memory", "Executor 1 has 2.0 GiB of memory, near its limit"},
	} {
		t.Run(page, func(t *testing.T) {
			_, shown := open(t, pages, everyPage[page])
			for _, text := range says {
				assert.Contains(t, shown, text)
			}
		})
	}
}

func TestWhatSlowTasksHaveProcessed(t *testing.T) {
	batch, _ := uitest.Nightly()
	_, shown := open(t, of(snapshotOf(batch)), "page=stage&id=5")
	require.Regexp(t, `Slowest tasks .* Records in Shuffle read Spilled .* 17 0 succeeded 5 node2.example.org [a-z]+ [0-9:]+ 9.8 s .* 310 MiB 103 MiB`, shown)
}

func TestAnApplicationOfWhichNothingIsKnown(t *testing.T) {
	pages := of(snapshotOf(&events.Batch{}))
	for page, query := range everyPage {
		answer := ask(pages, http.MethodGet, query, "")
		if strings.Contains(query, "=") && (strings.Contains(query, "id=") || strings.Contains(query, "index=")) {
			require.Equal(t, http.StatusNotFound, answer.Code, page)
		} else {
			require.Equal(t, http.StatusOK, answer.Code, page)
		}
		require.Contains(t, answer.Body.String(), "</html>", page)
	}
}

func TestWhyNothingRuns(t *testing.T) {
	wanted := &events.ExecutorsRequested{Time: at(1), Wanted: 4}
	allocated := &events.ExecutorAllocated{Time: at(2), ID: "1", Host: "a"}
	launched := &events.ExecutorLaunched{Time: at(3), ID: "1"}
	registered := &events.ExecutorRegistered{Time: at(4), Number: 1, ID: "1", Host: "a", Cores: 1}
	for name, test := range map[string]struct {
		events []events.Event
		says   string // expected text; "" if the page must not mention waiting
	}{
		"no container":        {[]events.Event{wanted}, "The cluster has given no container for them yet."},
		"containers":          {[]events.Event{wanted, allocated}, "1 container allocated, and not launched yet"},
		"no registration":     {[]events.Event{wanted, allocated, launched}, "1 executor launched, and not registered"},
		"an executor is here": {[]events.Event{wanted, allocated, launched, registered}, "1 of 4 wanted executors have registered. The cluster has given no container for them yet."},
		"all are here":        {[]events.Event{&events.ExecutorsRequested{Time: at(1), Wanted: 1}, allocated, launched, registered}, ""},
		"no free worker":      {[]events.Event{&events.ApplicationStarted{Time: at(0), Master: "bobbin://m:7077"}, wanted}, "The master has launched none of them yet."},
		"nothing is wanted":   {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, shown := open(t, of(snapshotOf(&events.Batch{Events: test.events})), "")
			if test.says == "" {
				require.NotContains(t, shown, "Waits for executors")
				return
			}
			if !strings.Contains(test.says, "wanted") {
				test.says = "4 executors wanted " + test.says
			}
			require.Contains(t, shown, "Waits for executors: "+test.says)
		})
	}
}

func TestRemainingTime(t *testing.T) {
	b := &events.Batch{Events: []events.Event{
		&events.ExecutorRegistered{Time: at(1), Number: 1, ID: "1", Host: "a", Cores: 2},
		&events.TaskSetSubmitted{Time: at(1), Set: 1, Job: 1, Name: "n", Tasks: 13},
	}}
	for i := range 4 {
		b.Attempts = append(b.Attempts, events.Attempt{Set: 1, Task: uint32(i), Executor: 1, Outcome: events.OutcomeSucceeded, Start: micros64(1), End: micros64(11)})
	}
	for i := range 2 {
		b.Attempts = append(b.Attempts, events.Attempt{Set: 1, Task: uint32(4 + i), Executor: 1, Start: micros64(11)})
	}
	_, shown := open(t, of(snapshotOf(b)), "")
	require.Contains(t, shown, "about 40 s left", "seven tasks of 10 s and two that are half done, on two cores")

	b.Events = append(b.Events, &events.ApplicationEnded{Time: at(12), State: events.StateKilled})
	_, shown = open(t, of(snapshotOf(b)), "")
	require.NotContains(t, shown, "left")
}

func TestHostileNames(t *testing.T) {
	for _, text := range hostile {
		snapshot := snapshotOf(busy(func(name string) string { return text + name }))
		pages := of(snapshot)
		for page, query := range everyPage {
			document, shown := open(t, pages, query)
			harmless(t, document, page)
			require.NotContains(t, shown, "\u202e", page)
			require.NotContains(t, shown, "\x1b", page)
			require.NotContains(t, shown, "\x00", page)
		}
	}
}

// harmless checks that a page loads only the application's own scripts and style sheet, and
// contains only links to the application's pages and to the logs on the NodeManager of the test.
func harmless(t *testing.T, document *html.Node, page string) {
	t.Helper()
	scripts := 0
	for n := range document.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("%s has a comment: %q", page, n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script":
			scripts++
			require.Regexp(t, `^\?asset=(ui|lanes)\.js&v=`, attribute(n, "src"), page)
			require.Nil(t, n.FirstChild, page)
		case "img", "style", "iframe", "form", "object", "embed", "base":
			t.Errorf("%s has an element %s", page, n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
				t.Errorf("%s has an attribute %s=%q", page, a.Key, a.Val)
			}
			if a.Key == "href" || a.Key == "src" {
				own := strings.HasPrefix(a.Val, "?") || strings.HasPrefix(a.Val, "#")
				if !own && !(n.Data == "a" && strings.HasPrefix(a.Val, "http://node1.example:8042/")) {
					t.Errorf("%s has a link to %q", page, a.Val)
				}
			}
		}
	}
	require.LessOrEqual(t, scripts, 2, page)
}

func TestALogIsLinkedOnTheWebOnly(t *testing.T) {
	for address, linked := range map[string]bool{
		"http://a:8042/x": true, "https://a/x": true, "javascript:alert(1)": false, "data:text/html,x": false, "/x": false, "http:x": false, "": false, "%": false,
	} {
		require.Equal(t, linked, externalLink("log", address).Link != "", address)
	}
}

// TestEveryLinkLeadsToAPage follows the links of all pages.
func TestEveryLinkLeadsToAPage(t *testing.T) {
	pages := of(snapshotOf(busy(plain)))
	seen := map[string]bool{}
	pending := []string{"?"}
	for len(pending) > 0 {
		link := pending[0]
		pending = pending[1:]
		if seen[link] {
			continue
		}
		seen[link] = true
		parsed, err := url.Parse(link)
		require.NoError(t, err)
		document, _ := open(t, pages, parsed.RawQuery)
		ids := map[string]bool{}
		for n := range document.Descendants() {
			if id := attribute(n, "id"); id != "" {
				require.False(t, ids[id], "%s has two elements %s", link, id)
				ids[id] = true
			}
		}
		for n := range document.Descendants() {
			href := attribute(n, "href")
			switch {
			case n.Data != "a" || strings.HasPrefix(href, "http"):
			case strings.HasPrefix(href, "#"):
				require.True(t, ids[href[1:]], "%s links to %s", link, href)
			case strings.Contains(link, ".sort=") && strings.Contains(href, ".sort="): // skip, because there are too many combinations
			default:
				require.True(t, strings.HasPrefix(href, "?"), href)
				pending = append(pending, href)
			}
		}
	}
	require.Greater(t, len(seen), 100)
}

func TestTables(t *testing.T) {
	b := &events.Batch{Events: []events.Event{&events.TaskSetSubmitted{Time: at(0), Set: 1, Job: 1, Name: "n", Tasks: 250}}}
	for i := range 250 {
		b.Attempts = append(b.Attempts, events.Attempt{Set: 1, Task: uint32(i), Executor: 1, Outcome: events.OutcomeSucceeded, Start: micros64(0), End: micros64(1 + float64(i*37%250))})
	}
	pages := of(snapshotOf(b))
	rows := func(query string) (first, last string, n int, pager string) {
		document, _ := open(t, pages, query)
		for node := range document.Descendants() {
			if node.Data == "tr" && strings.HasPrefix(attribute(node, "id"), "attempts-") {
				if n++; n == 1 {
					first = attribute(node, "id")
				}
				last = attribute(node, "id")
			}
			if attribute(node, "class") == "pager" {
				pager = textOf(node)
			}
		}
		return first, last, n, pager
	}
	for query, want := range map[string]struct {
		first, last string
		rows        int
		pager       string
	}{
		"page=tasks&id=1":                                      {"attempts-1-0-0", "attempts-1-99-0", 100, "1–100 of 250 Next"},
		"page=tasks&id=1&attempts.from=200":                    {"attempts-1-200-0", "attempts-1-249-0", 50, "Previous 201–250 of 250"},
		"page=tasks&id=1&attempts.from=9999":                   {"attempts-1-249-0", "attempts-1-249-0", 1, "Previous 250–250 of 250"},
		"page=tasks&id=1&attempts.from=-7":                     {"attempts-1-0-0", "attempts-1-99-0", 100, "1–100 of 250 Next"},
		"page=tasks&id=1&attempts.sort=-task":                  {"attempts-1-249-0", "attempts-1-150-0", 100, "1–100 of 250 Next"},
		"page=tasks&id=1&attempts.sort=-took&attempts.from=0":  {"attempts-1-27-0", "attempts-1-170-0", 100, "1–100 of 250 Next"},
		"page=tasks&id=1&attempts.sort=nonsense&attempts.from": {"attempts-1-0-0", "attempts-1-99-0", 100, "1–100 of 250 Next"},
	} {
		first, last, n, pager := rows(query)
		assert.Equal(t, want.rows, n, query)
		assert.Equal(t, want.first, first, query)
		if !strings.Contains(query, "-took&") {
			assert.Equal(t, want.last, last, query)
		}
		assert.Equal(t, want.pager, pager, query)
	}
}

func TestFormats(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 500 * time.Nanosecond: "0 µs", 12 * time.Microsecond: "12 µs", 999 * time.Millisecond: "999 ms", 3440 * time.Millisecond: "3.4 s",
		99960 * time.Millisecond: "1 min 40 s", 3599 * time.Second: "59 min 59 s", 25 * time.Hour: "25 h 0 min", 50 * time.Hour: "2 d 2 h", -time.Second: "-1.0 s",
	} {
		assert.Equal(t, want, duration(d))
	}
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536 << 20: "1.5 GiB", 1 << 62: "4096 PiB", 500 << 30: "500 GiB"} {
		assert.Equal(t, want, size(bytes))
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1\u202f000", 1234567: "1\u202f234\u202f567", -1000: "-1\u202f000"} {
		assert.Equal(t, want, count(n))
	}
	assert.Equal(t, `a\u202eb\u0007`+"\n", visible("a\u202eb\a\n"))
	assert.Equal(t, "a …", firstLine(" a\nb", 10))
	assert.Equal(t, "äb …", firstLine("äbc", 2))
}

package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
)

// sampled returns an encoded profile of an executor. Each key of samples is a stack: functions
// separated by spaces, callers first. The values are the samples' values.
func sampled(t *testing.T, executor, unit string, samples map[string]int64) []byte {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: unit}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: unit}, Period: 1}
	functions := map[string]*profile.Location{}
	for stack, value := range samples {
		s := &profile.Sample{Value: []int64{1, value}, Label: map[string][]string{"executor": {executor}, "task_set": {"count <words>"}}}
		for _, name := range slices.Backward(strings.Split(stack, " ")) {
			if functions[name] == nil {
				f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, Filename: "/src/main.go"}
				functions[name] = &profile.Location{ID: f.ID, Address: f.ID, Line: []profile.Line{{Function: f, Line: 12}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, functions[name])
			}
			s.Location = append(s.Location, functions[name])
		}
		p.Sample = append(p.Sample, s)
	}
	encoded, err := profiling.Encode(p)
	require.NoError(t, err)
	return encoded
}

// profiled returns a handler of pages that calls take for a profile.
func profiled(take profiling.Taker) *Pages {
	s := snapshotOf(busy(plain))
	return New(Options{Snapshot: func() *events.Snapshot { return s }, Profile: take, Streams: true, Now: func() time.Time { return later }})
}

const cpuQuery = "page=profile&type=cpu&seconds=1"

// boxes returns the widths of a flame graph's boxes, by the function in their titles.
func boxes(document *html.Node) map[string]string {
	all := map[string]string{}
	for n := range document.Descendants() {
		if n.Type == html.ElementNode && n.Data == "rect" {
			name, _, _ := strings.Cut(textOf(n), ":")
			all[name] = attribute(n, "width")
		}
	}
	return all
}

func TestABusyFunctionTopsTheFlameGraphOfTwoExecutors(t *testing.T) {
	merged, err := profiling.Merge([][]byte{
		sampled(t, "1", "nanoseconds", map[string]int64{"main.run example.com/words.Busy": 3e9, "main.run runtime.gc": 1e9}),
		sampled(t, "2", "nanoseconds", map[string]int64{"main.run example.com/words.Busy runtime.asyncPreempt": 5e9, "main.run main.idle": 1e9}),
	}, []string{"executor 1", "executor 2"})
	require.NoError(t, err)
	var asked profiling.Request
	pages := profiled(func(_ context.Context, r profiling.Request) ([]byte, error) {
		asked = r
		return merged, nil
	})
	document, shown := open(t, pages, cpuQuery)
	require.Equal(t, profiling.Request{Type: profiling.CPU, Duration: time.Second}, asked)
	for _, says := range []string{"Profile: CPU over 1", "executor 1, executor 2", "words.Busy", "80.0 %", "8.0 s"} {
		require.Contains(t, shown, says)
	}
	_, table, _ := strings.Cut(shown, "Functions Function Own Own With calls With calls ")
	require.True(t, strings.HasPrefix(table, "example.com/words.Busy 80.0 %"), table)
	widths := boxes(document)
	require.Equal(t, "1200", widths["all"])
	require.Equal(t, "1200", widths["count <words>"])
	require.Equal(t, "1200", widths["main.run"])
	require.Equal(t, "960", widths["example.com/words.Busy"])
	require.Equal(t, "120", widths["main.idle"])

	for n := range document.Descendants() {
		require.Empty(t, attribute(n, "style"), "the policy forbids inline style")
		require.False(t, n.Type == html.ElementNode && n.Data == "html" && attribute(n, "data-live") != "", "a page that stays current would take profiles")
		if link := attribute(n, "href"); strings.Contains(link, "download=") {
			answer := ask(pages, http.MethodGet, strings.TrimPrefix(link, "?"), "")
			require.Equal(t, merged, answer.Body.Bytes())
			require.Equal(t, `attachment; filename="application_1_0007.cpu.pb.gz"`, answer.Header().Get("Content-Disposition"))
			for range maxProfiles {
				ask(pages, http.MethodGet, cpuQuery, "")
			}
			require.Equal(t, http.StatusNotFound, ask(pages, http.MethodGet, strings.TrimPrefix(link, "?"), "").Code)
		}
	}
}

func TestAGoroutineDump(t *testing.T) {
	dump := sampled(t, "2", "count", map[string]int64{"main.run main.wait": 17, "main.run main.<b>hostile": 1})
	_, shown := open(t, profiled(func(context.Context, profiling.Request) ([]byte, error) { return dump, nil }), "page=profile&type=goroutine&seconds=1&executor=2")
	require.Contains(t, shown, "Profile: goroutines, of executor 2")
	require.Contains(t, shown, "17 goroutines, executor 2, task set count <words>: main.wait /src/main.go:12 main.run /src/main.go:12 1 goroutine,")
	require.Contains(t, shown, "main.<b>hostile")
}

func TestWhatProfilesArePossible(t *testing.T) {
	failing := profiled(func(context.Context, profiling.Request) ([]byte, error) {
		return nil, errors.New("no executor is registered")
	})
	nonsense := profiled(func(context.Context, profiling.Request) ([]byte, error) { return []byte("nonsense"), nil })
	empty := profiled(func(context.Context, profiling.Request) ([]byte, error) {
		return sampled(t, "1", "nanoseconds", nil), nil
	})
	for _, test := range []struct {
		pages  *Pages
		query  string
		status int
		says   string
	}{
		{failing, cpuQuery, http.StatusServiceUnavailable, "no executor is registered"},
		{nonsense, cpuQuery, http.StatusServiceUnavailable, "the profile cannot be read"},
		{failing, "page=profile&type=cpu&seconds=31", http.StatusBadRequest, "1s to 30s"},
		{of(snapshotOf(busy(plain))), cpuQuery, http.StatusNotFound, "does not run any more, or not here"},
		{empty, cpuQuery, http.StatusOK, "The profile has no samples."},
		{failing, "page=profile&download=7", http.StatusNotFound, "take another"},
	} {
		answer := ask(test.pages, http.MethodGet, test.query, "")
		require.Equal(t, test.status, answer.Code, test.query)
		require.Contains(t, answer.Body.String(), test.says)
	}

	begun, proceed := make(chan bool), make(chan bool)
	slow := profiled(func(context.Context, profiling.Request) ([]byte, error) {
		begun <- true
		<-proceed
		return nil, errors.New("too late")
	})
	done := make(chan int)
	go func() { done <- ask(slow, http.MethodGet, cpuQuery, "").Code }()
	<-begun
	require.Contains(t, ask(slow, http.MethodGet, cpuQuery, "").Body.String(), "Another profile is being taken")
	close(proceed)
	require.Equal(t, http.StatusServiceUnavailable, <-done)

	links := func(pages *Pages, query string) (found []string) {
		document, _ := open(t, pages, query)
		for n := range document.Descendants() {
			if link := attribute(n, "href"); strings.Contains(link, "page=profile") {
				found = append(found, link)
			}
		}
		return found
	}
	require.Len(t, links(failing, "page=executors"), 2*len(profileTypes))
	require.Contains(t, links(failing, "page=executor&id=1"), "?executor=1&page=profile&seconds=5&type=heap")
	require.Contains(t, links(failing, "page=job&id=8"), "?job=8&page=profile&seconds=5&type=cpu")
	require.Empty(t, links(failing, "page=executor&id=4"), "it is lost")
	require.Empty(t, links(failing, "page=job&id=1"), "it has ended")
	require.Empty(t, links(of(snapshotOf(busy(plain))), "page=executors"))
}

func TestNamesInAFlameGraph(t *testing.T) {
	require.Equal(t, "dataset.Map[example.com/a.B]", shortName("example.com/x/dataset.Map[example.com/a.B]"))
	require.Equal(t, "", fitting("main.run", 20))
	require.Equal(t, "main.run", fitting("main.run", 100))
	require.Equal(t, "mai…", fitting("main.run", 35))
	require.Equal(t, colorOf("example.com/a.B"), colorOf("example.com/a.C"))
	deep := []string{}
	for i := range 3 * flameDepth {
		deep = append(deep, fmt.Sprintf("main.f%d", i))
	}
	p, err := profile.ParseData(sampled(t, "1", "nanoseconds", map[string]int64{strings.Join(deep, " "): 5}))
	require.NoError(t, err)
	require.Equal(t, flameDepth*flameRow, flameOf(p, "", count[int64]).Height)
}

package client

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testDisplay returns a display with a fake clock. after(d) advances the clock by d.
func testDisplay(console *Console) (p *progressDisplay, after func(time.Duration)) {
	now := time.Unix(1_700_000_000, 0)
	p = &progressDisplay{console: console, began: now}
	p.now = func() time.Time { return now }
	return p, func(d time.Duration) { now = now.Add(d) }
}

func progressOf(t *testing.T, text string) *Progress {
	t.Helper()
	s, err := parseStatus([]byte(text))
	require.NoError(t, err)
	return s
}

func TestProgressWithoutATerminal(t *testing.T) {
	out := &bytes.Buffer{}
	p, after := testDisplay(NewConsole(out))
	p.showState("RUNNING", "on h1")
	p.update(progressOf(t, `{"executors":{"requested":2,"running":1}}`))
	after(time.Second)
	p.update(progressOf(t, `{"executors":{"requested":2,"running":2},"tasks":{"total":8,"done":1,"running":2},"taskSets":[{"name":"count","total":8,"done":1,"running":2}]}`))
	after(time.Second)
	p.update(progressOf(t, `{"executors":{"requested":2,"running":2},"tasks":{"total":8,"done":2,"running":2},"taskSets":[{"name":"count","total":8,"done":2,"running":2}]}`))
	after(taskLinePause)
	p.update(progressOf(t, `{"executors":{"requested":2,"running":1,"failed":1},"tasks":{"total":8,"done":5,"running":1,"failed":2},"taskSets":[{"name":"count","total":8,"done":5,"running":1,"failed":2}]}`))
	p.update(progressOf(t, `{"executors":{"requested":2,"running":0,"failed":1},"tasks":{"total":8,"done":8}}`))
	p.redraw()
	require.Equal(t, strings.Join([]string{
		"   0.0s  RUNNING  on h1",
		"   0.0s  1 of 2 executors",
		"   1.0s  2 of 2 executors",
		"   1.0s  count 1/8, 2 running",
		"   7.0s  1 of 2 executors (1 failed)",
		"   7.0s  count 5/8, 1 running, 2 failed attempts",
		"",
	}, "\n"), out.String(), "not every change, and no executors that leave at the end")
}

func TestNotesAreShownOnce(t *testing.T) {
	out := &bytes.Buffer{}
	p, _ := testDisplay(NewConsole(out))
	p.update(progressOf(t, `{"notes":["job 1 (count) waits: no executor"]}`))
	p.update(progressOf(t, `{"notes":["job 1 (count) waits: no executor","job 2 waits"]}`))
	p.update(progressOf(t, `{}`))
	p.update(progressOf(t, `{"notes":["job 2 waits"]}`))
	require.Equal(t, "   0.0s  job 1 (count) waits: no executor\n   0.0s  job 2 waits\n   0.0s  job 2 waits\n", out.String())
}

func TestProgressOnATerminal(t *testing.T) {
	console, out := liveConsole(120)
	p, after := testDisplay(console)
	p.showState("RUNNING", "on h1")
	p.redraw()
	after(1500 * time.Millisecond)
	p.update(progressOf(t, `{"executors":{"requested":2,"running":1},"tasks":{"total":20,"done":10,"running":2},"taskSets":[{"name":"a","total":10,"done":10},{"name":"b","total":10,"done":0,"running":2}]}`))
	p.redraw()
	require.Equal(t, []string{
		"   0.0s  RUNNING  on h1",
		"   1.5s  RUNNING  1 of 2 executors  [                              ]  b 0/10, 2 running",
	}, screen(out.String()))
}

func TestStatusWithUnexpectedContent(t *testing.T) {
	require.True(t, progressOf(t, `{"state":"FINISHING"}`).isIdle())
	require.False(t, progressOf(t, `{}`).isIdle())
	require.False(t, progressOf(t, `{"state":"RUNNING","tasks":{"total":2,"done":1}}`).isIdle())
	_, err := parseStatus([]byte("<html>"))
	require.Error(t, err)
	// Without tasks and executors, nothing is shown.
	out := &bytes.Buffer{}
	p, _ := testDisplay(NewConsole(out))
	p.update(progressOf(t, `{}`))
	require.Empty(t, out.String())
}

func TestStagesOfAJobAreOneLine(t *testing.T) {
	stage := func(number, total, done, running int, state string) string {
		return fmt.Sprintf(`{"name":"map at main.go:%[1]d","stage":{"job":7,"name":"join","number":%[1]d,"of":3},"total":%[2]d,"done":%[3]d,"running":%[4]d,"state":%[5]q}`,
			number, total, done, running, state)
	}
	for name, test := range map[string]struct {
		sets []string
		want string
	}{
		"one":              {[]string{stage(1, 8, 3, 2, "running")}, "join, stage 1 of 3: 3/8, 2 running"},
		"two at a time":    {[]string{stage(2, 8, 3, 2, "running"), stage(1, 10, 1, 1, "running")}, "join, stages 1 and 2 of 3: 4/18, 3 running"},
		"the next":         {[]string{stage(1, 8, 8, 0, "succeeded"), stage(2, 4, 0, 1, "running")}, "join, stage 2 of 3: 0/4, 1 running"},
		"a failed attempt": {[]string{stage(2, 8, 3, 0, "cancelled"), stage(2, 5, 1, 1, "running")}, "join, stage 2 of 3: 1/5, 1 running"},
		"beside others":    {[]string{stage(1, 8, 3, 2, "running"), `{"name":"count","total":9,"done":1,"running":1,"state":"running"}`}, "join, stage 1 of 3: 3/8, 2 running"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, progressOf(t, `{"taskSets":[`+strings.Join(test.sets, ",")+`]}`).tasks())
		})
	}
}

func TestTheLiveLineFitsNarrowTerminals(t *testing.T) {
	console, _ := liveConsole(120)
	p, after := testDisplay(console)
	p.state = "RUNNING"
	after(1500 * time.Millisecond)
	p.update(progressOf(t, `{"executors":{"requested":2,"running":1},"tasks":{"total":20,"done":10,"running":2},"taskSets":[{"name":"words","total":20,"done":10,"running":2}]}`))
	for columns, want := range map[int]string{
		80: "   1.5s  RUNNING  1 of 2 executors  [========>         ]  words 10/20, 2 running",
		60: "   1.5s  RUNNING  [=======>        ]  words 10/20, 2 running",
		42: "   1.5s  [==>    ]  words 10/20, 2 running",
		25: "   1.5s  words 10/20, 2 running",
	} {
		require.Equal(t, want, p.liveLine(columns), columns)
	}
}

func TestAProgramPrintsBesideTheLiveLine(t *testing.T) {
	console, out := liveConsole(60)
	console.shared = true
	beside := &liveLineWriter{console: console, out: out}
	p, _ := testDisplay(console)
	p.state = "RUNNING"
	p.update(progressOf(t, `{"tasks":{"total":2,"done":1},"taskSets":[{"name":"words","total":2,"done":1}]}`))
	p.redraw()
	require.Contains(t, screen(out.String())[0], "words 1/2")
	_, _ = beside.Write([]byte("a result\n"))
	p.redraw()
	lines := screen(out.String())
	require.Equal(t, "a result", lines[0])
	require.Contains(t, lines[1], "words 1/2")
	p.update(progressOf(t, `{"tasks":{"total":2,"done":2},"taskSets":[{"name":"words","total":2,"done":2}]}`))
	p.redraw()
	require.Equal(t, []string{"a result", ""}, screen(out.String()), "the program may print when no task runs")
}

func TestWhyThereIsNoExecutor(t *testing.T) {
	out := &bytes.Buffer{}
	p, after := testDisplay(NewConsole(out))
	for _, executors := range []string{`{"requested":2,"pending":2}`, `{"requested":2,"pending":2}`, `{"requested":2,"pending":1,"launching":1}`, `{"requested":2,"running":1}`} {
		p.update(progressOf(t, `{"executors":`+executors+`}`))
		after(waitReasonDelay)
	}
	require.Equal(t, "   5.0s  waiting for executors: the cluster has given no container yet\n"+
		"  10.0s  waiting for executors: containers are starting\n  15.0s  1 of 2 executors\n", out.String())
}

func TestSlowTasksAreShownOnce(t *testing.T) {
	out := &bytes.Buffer{}
	p, after := testDisplay(NewConsole(out))
	slow := `{"slowest":[{"set":1,"name":"sum","task":17,"executor":"3","host":"node1","runMillis":45000,"meanMillis":5000},{"set":1,"name":"sum","task":18,"runMillis":9000,"meanMillis":5000}]}`
	for range 3 {
		p.update(progressOf(t, slow))
		after(taskLinePause)
	}
	require.Equal(t, "   0.0s  slow: task 17 of sum runs for 45.0s on node1 (executor 3); the mean is 5.0s\n", out.String())
}

package client

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testDisplay returns a display whose clock after advances.
func testDisplay(console *Console) (p *display, after func(time.Duration)) {
	now := time.Unix(1_700_000_000, 0)
	p = &display{console: console, began: now}
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
	require.True(t, progressOf(t, `{"state":"FINISHING"}`).idle())
	require.False(t, progressOf(t, `{}`).idle())
	require.False(t, progressOf(t, `{"state":"RUNNING","tasks":{"total":2,"done":1}}`).idle())
	_, err := parseStatus([]byte("<html>"))
	require.Error(t, err)
	// Without numbers, nothing is shown.
	out := &bytes.Buffer{}
	p, _ := testDisplay(NewConsole(out))
	p.update(progressOf(t, `{}`))
	require.Empty(t, out.String())
}

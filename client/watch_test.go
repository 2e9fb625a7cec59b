package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
)

// reports returns a function that returns the given reports and errors one after another.
func reports(all ...any) func(context.Context) (*Report, error) {
	at := -1
	return func(context.Context) (*Report, error) {
		at++
		if err, ok := all[at].(error); ok {
			return nil, err
		}
		return all[at].(*Report), nil
	}
}

func watched(state, status string, progress *Progress) *Report {
	return &Report{ApplicationID: fakeID, Name: "app", User: "ann", Queue: "default", State: state, FinalStatus: status, Progress: progress,
		Times: StateTimes{Submitted: time.Now().Add(-5 * time.Second)}}
}

func busy() *Progress {
	return &Progress{
		State: "RUNNING", Executors: ExecutorCounts{Requested: 2, Running: 1}, Tasks: TaskCounts{Total: 4, Done: 1, Running: 1}, Notes: []string{"a note"},
		TaskSets: []TaskSet{{Name: "count", State: "running", TaskCounts: TaskCounts{Total: 4, Done: 1, Running: 1}}},
		Details:  []ExecutorDetail{{ID: "1", Host: "h1", State: "lost", Failed: 3}, {ID: "2", Host: "h2", State: "registered", Cores: 2, Running: 1, ResidentBytes: 21e6}},
	}
}

func TestWatchWithoutATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &bytes.Buffer{}
		err := Watch(t.Context(), Screen{Out: out}, time.Second, reports(
			watched("ACCEPTED", "UNDEFINED", nil), watched("RUNNING", "UNDEFINED", busy()), errors.New("nobody answers"), watched("FINISHED", "SUCCEEDED", nil)))
		require.NoError(t, err)
		require.NotContains(t, out.String(), "\x1b")
		lines := strings.Split(out.String(), "\n")
		require.Regexp(t, `^\d\d:\d\d:\d\d  ACCEPTED  5\.0s$`, lines[0])
		require.Regexp(t, `^\d\d:\d\d:\d\d  RUNNING  6\.0s  1 of 2 executors  count 1/4, 1 running$`, lines[1])
		require.Regexp(t, `nobody answers$`, lines[2])
		require.Regexp(t, `FINISHED  SUCCEEDED`, lines[3])
		require.Equal(t, "application  "+fakeID, lines[4], "the report")
	})
}

func TestWatchOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &bytes.Buffer{}
		screen := Screen{Out: out, Size: func() (int, int) { return 60, 10 }, Paint: func(word string) string {
			if word == "RUNNING" {
				return "<RUNNING>"
			}
			return word
		}}
		require.NoError(t, Watch(t.Context(), screen, time.Second, reports(watched("RUNNING", "UNDEFINED", busy()), watched("FAILED", "FAILED", nil))))
		text := out.String()
		require.True(t, strings.HasPrefix(text, enterScreen+toTop))
		first, rest, _ := strings.Cut(strings.TrimPrefix(text, enterScreen+toTop), clearBelow)
		lines := strings.Split(first, clearLine+"\r\n")
		require.Len(t, lines, 10, "nine lines and what follows the last")
		for _, line := range lines {
			require.LessOrEqual(t, len([]rune(line)), 62, line)
		}
		require.Contains(t, lines[0], fakeID+"  app  <RUNNING>")
		require.NotContains(t, strings.Join(lines[1:], ""), "<RUNNING>")
		require.Contains(t, first, "a note")
		require.Regexp(t, `count +running  \[=+>\.+\]  1/4`, first)
		require.Contains(t, rest, leaveScreen+"application  "+fakeID, "the last report stays")
	})
}

func TestWatchEnds(t *testing.T) {
	out := &bytes.Buffer{}
	require.ErrorContains(t, Watch(t.Context(), Screen{Out: out}, time.Second, reports(errors.New("no such application"))), "no such application")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	err := Watch(ctx, Screen{Out: out}, time.Hour, func(context.Context) (*Report, error) {
		cancel(stop)
		return nil, fmt.Errorf("asking: %w", context.Canceled)
	})
	require.ErrorIs(t, err, stop)
}

func TestPageListsLostExecutorsLast(t *testing.T) {
	page := strings.Join(watched("RUNNING", "UNDEFINED", busy()).page(time.Now(), "trouble"), "\n")
	require.Contains(t, page, "trouble\n")
	require.Less(t, strings.Index(page, "h2"), strings.Index(page, "h1"))
	require.Contains(t, page, "21.0 MB")
}

func TestPageShowsStagesSlowTasksAndWhatIsWaitedFor(t *testing.T) {
	p := busy()
	p.Executors = ExecutorCounts{Requested: 2, Pending: 2}
	p.TaskSets = nil
	for i := range 20 {
		p.TaskSets = append(p.TaskSets, TaskSet{Name: fmt.Sprintf("ended%02d", i), State: "succeeded", TaskCounts: TaskCounts{Total: 1, Done: 1}})
	}
	p.TaskSets = append(p.TaskSets,
		TaskSet{Name: "map at main.go:7", Stage: &driver.StageInJob{Job: 3, Name: "join", Number: 2, Of: 3}, State: "running", TaskCounts: TaskCounts{Total: 4, Running: 1}},
		TaskSet{Name: "huge", State: "running", WaitReason: "no executor has 8 cores", TaskCounts: TaskCounts{Total: 4}})
	p.Slowest = []driver.SlowTask{{Name: "map at main.go:7", Task: 3, Executor: "1", Host: "h1", RunMillis: 1500}}
	page := strings.Join(watched("RUNNING", "UNDEFINED", p).page(time.Now(), ""), "\n")
	require.Contains(t, page, "waiting for executors: the cluster has given no container yet\n")
	require.Regexp(t, `huge +running .* waits: no executor has 8 cores\njoin, stage 2 of 3: map at main.go:7 +running`, page)
	require.Contains(t, page, "SLOWEST\ntask 3 of map at main.go:7 runs for 1.5s on h1 (executor 1)\n")
	require.Contains(t, page, "ended19")
	require.NotContains(t, page, "ended11", "the latest ended sets are enough")
}

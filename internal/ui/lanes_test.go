package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

func lanesFor(t require.TestingT, s *events.Snapshot, query string) lanes {
	answer := ask(of(s), http.MethodGet, "data=stream&"+query, "")
	require.Equal(t, http.StatusOK, answer.Code)
	require.Equal(t, "application/json", answer.Header().Get("Content-Type"))
	var l lanes
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &l))
	return l
}

// bars returns the bars of a lane as [begin, length, set, task, outcome].
func (l lane) bars() (all [][]int64) {
	for i := 0; i < len(l.Bars); i += barFields {
		all = append(all, l.Bars[i:i+5])
	}
	return all
}

// phases returns the last three numbers of each bar of a lane: decode, run and encode.
func (l lane) phases() (all [][]int64) {
	for i := 0; i < len(l.Bars); i += barFields {
		all = append(all, l.Bars[i+5:i+barFields])
	}
	return all
}

func TestLanes(t *testing.T) {
	second := int64(1_000_000)
	attempt := func(task uint32, outcome events.Outcome, begin, end float64) events.Attempt {
		a := events.Attempt{Set: 1, Task: task, Executor: 1, Outcome: outcome, Start: micros64(begin)}
		if outcome != events.OutcomeRunning {
			a.End = micros64(end)
		}
		return a
	}
	s := snapshotOf(&events.Batch{
		Events: []events.Event{
			&events.ExecutorRegistered{Time: at(0), Number: 1, ID: "1", Host: "a", Cores: 2},
			&events.TaskSetSubmitted{Time: at(0), Set: 1, Job: 1, Name: "count", Tasks: 9},
		},
		Attempts: []events.Attempt{
			attempt(0, events.OutcomeSucceeded, 0, 10), attempt(1, events.OutcomeFailed, 0, 5), attempt(2, events.OutcomeSucceeded, 5, 20), attempt(3, events.OutcomeRunning, 10, 0),
		},
	})
	l := lanesFor(t, s, "")
	require.Equal(t, []laneSet{{1, "count"}}, l.Sets)
	require.Len(t, l.Lanes, 2)
	require.Equal(t, [][]int64{{0, 10 * second, 0, 0, int64(events.OutcomeSucceeded)}, {10 * second, 590 * second, 0, 3, int64(events.OutcomeRunning)}}, l.Lanes[0].bars())
	require.Equal(t, [][]int64{{0, 5 * second, 0, 1, int64(events.OutcomeFailed)}, {5 * second, 15 * second, 0, 2, int64(events.OutcomeSucceeded)}}, l.Lanes[1].bars())

	part := lanesFor(t, s, fmt.Sprintf("from=%d&to=%d", micros64(4), micros64(8)))
	require.Equal(t, [][]int64{{0, 4 * second, 0, 0, int64(events.OutcomeSucceeded)}}, part.Lanes[0].bars())
	require.Equal(t, [][]int64{{0, 1 * second, 0, 1, int64(events.OutcomeFailed)}, {1 * second, 3 * second, 0, 2, int64(events.OutcomeSucceeded)}}, part.Lanes[1].bars())

	for _, query := range []string{"from=x", "from=9&to=1", "from=-1", "to=99999999999999999999", "columns=0", "columns=1e9"} {
		require.Equal(t, l, lanesFor(t, s, query), query)
	}
	require.Empty(t, lanesFor(t, snapshotOf(&events.Batch{}), "").Lanes)
}

func TestBarsShowPhases(t *testing.T) {
	ran := func(task uint32, begin, end float64, queue, decode, run, encode events.Micros) events.Attempt {
		return events.Attempt{
			Set: 1, Task: task, Executor: 1, Outcome: events.OutcomeSucceeded, Start: micros64(begin), End: micros64(end),
			Queue: queue, Decode: decode, Run: run, Encode: encode,
		}
	}
	s := snapshotOf(&events.Batch{
		Events: []events.Event{&events.ExecutorRegistered{Time: at(0), Number: 1, ID: "1", Host: "a", Cores: 1}},
		Attempts: []events.Attempt{
			ran(0, 0, 10, 1e6, 2e6, 5e6, 1e6),
			ran(1, 10, 20, 0, 1e6, 99e6, 1e6), // by an executor whose clock is fast
			ran(2, 20, 20.0001, 0, 10, 10, 10), ran(3, 20.0001, 20.0002, 0, 10, 10, 10),
		},
	})
	require.Equal(t, [][]int64{{2e6, 5e6, 1e6}, {1e6, 9e6, 0}, {0, 0, 0}}, lanesFor(t, s, "columns=100").Lanes[0].phases(), "short attempts share a bar")
	part := lanesFor(t, s, fmt.Sprintf("columns=100&from=%d&to=%d", micros64(2), micros64(9))).Lanes[0]
	require.Equal(t, [][]int64{{1e6, 5e6, 1e6}}, part.phases(), "what was before the interval is not drawn")
}

func TestLanesBeyondTheLimitAreCounted(t *testing.T) {
	b := &events.Batch{}
	for n := range uint32(maxLanes + 7) {
		b.Events = append(b.Events, &events.ExecutorRegistered{Time: at(0), Number: n + 1, ID: fmt.Sprint(n + 1), Host: "a", Cores: 1})
		b.Attempts = append(b.Attempts, events.Attempt{Set: 1, Task: n, Executor: n + 1, Outcome: events.OutcomeSucceeded, Start: micros64(0), End: micros64(1)})
	}
	l := lanesFor(t, snapshotOf(b), "")
	require.Len(t, l.Lanes, maxLanes)
	require.Equal(t, 7, l.Omitted)
	script := ask(of(snapshotOf(b)), http.MethodGet, "asset=lanes.js", "").Body.String()
	require.Contains(t, script, "data.omitted", "the page says so")
}

// TestLanesShowAllTime draws random attempts. The bars of a lane must not overlap if no
// executor runs more attempts than it has cores, and each moment of each attempt must be in a
// bar of its task set.
func TestLanesShowAllTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cores := rapid.IntRange(1, 4).Draw(t, "cores")
		b := &events.Batch{Events: []events.Event{&events.ExecutorRegistered{Time: at(0), Number: 1, ID: "1", Host: "a", Cores: cores}}}
		for core := range cores {
			now := 0.0
			for i := range rapid.IntRange(1, 30).Draw(t, "attempts") {
				now += rapid.Float64Range(0, 3).Draw(t, "pause")
				took := rapid.Float64Range(0.000002, 5).Draw(t, "took")
				b.Attempts = append(b.Attempts, events.Attempt{
					Set: uint64(i%3 + 1), Task: uint32(core*100 + i), Executor: 1, Outcome: events.OutcomeSucceeded, Start: micros64(now), End: micros64(now + took),
				})
				now += took + 0.000002
			}
		}
		l := lanesFor(t, snapshotOf(b), fmt.Sprintf("columns=%d", rapid.IntRange(1, 4000).Draw(t, "columns")))
		require.LessOrEqual(t, len(l.Lanes), cores)
		for _, lane := range l.Lanes {
			end := int64(-1)
			for _, bar := range lane.bars() {
				require.GreaterOrEqual(t, bar[0], end-1)
				end = bar[0] + bar[1]
			}
		}
		for _, a := range b.Attempts {
			begin, end := int64(a.Start-l.Begin), int64(a.End-l.Begin)
			found := false
			for _, lane := range l.Lanes {
				for _, bar := range lane.bars() {
					found = found || l.Sets[bar[2]].ID == a.Set && bar[0] <= begin && bar[0]+bar[1] >= end
				}
			}
			require.True(t, found, "task %d", a.Task)
		}
	})
}

// TestPagesThatPollGetOlderLanes runs further tasks while a page is open.
func TestPagesThatPollGetOlderLanes(t *testing.T) {
	for name, test := range map[string]struct {
		streams, ended bool
		reused         bool
	}{
		"behind a proxy": {reused: true}, "on this machine": {streams: true}, "after the end": {ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			model, now := events.NewModel(events.Limits{}), later
			model.Consume(busy(plain))
			if test.ended {
				model.Consume(&events.Batch{Events: []events.Event{&events.ApplicationEnded{Time: at(600), State: events.StateSucceeded}}})
			}
			pages := New(Options{Snapshot: model.Snapshot, Streams: test.streams, Now: func() time.Time { return now }})
			draw := func(query string) string { return ask(pages, http.MethodGet, query, "").Body.String() }
			first := draw("data=stream")
			model.Consume(&events.Batch{Attempts: []events.Attempt{{Set: 7, Task: 6, Executor: 1, Outcome: events.OutcomeSucceeded, Start: micros64(601), End: micros64(602)}}})
			now = now.Add(maxLanesAge - 1)
			require.Equal(t, test.reused, draw("data=stream") == first)
			require.NotEqual(t, first, draw("data=stream&columns=300"))
			now = now.Add(1)
			require.NotEqual(t, first, draw("data=stream"))
		})
	}
}

func TestBarsOfManyAttemptsAreFew(t *testing.T) {
	b := &events.Batch{}
	for n := range uint32(50) {
		b.Events = append(b.Events, &events.ExecutorRegistered{Time: at(0), Number: n + 1, ID: fmt.Sprint(n + 1), Host: "a", Cores: 4})
	}
	for i := range 200_000 {
		begin := float64(i/200) * 0.1
		b.Attempts = append(b.Attempts, events.Attempt{Set: 1, Task: uint32(i), Executor: uint32(i%50 + 1), Outcome: events.OutcomeSucceeded, Start: micros64(begin), End: micros64(begin + 0.09)})
	}
	l := lanesFor(t, snapshotOf(b), "columns=1000")
	require.Len(t, l.Lanes, 200)
	bars := 0
	for _, lane := range l.Lanes {
		bars += len(lane.bars())
	}
	require.LessOrEqual(t, bars, 200*1000*2)
}

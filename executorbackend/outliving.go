package executorbackend

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// lookInterval is between two looks for goroutines that outlive their tasks.
	lookInterval = 30 * time.Second
	// taskLabel is the profiler label of a task's goroutines.
	taskLabel = "bobbin.task"
)

// origins label the goroutines of tasks, so that it can be told later where one
// comes from that outlives its task: a goroutine has the labels of the one that
// started it. Tasks of a set that start between the same two looks share a
// label, which costs a task next to nothing. The engine's lock guards origins.
type origins struct {
	prefix string // tells the labels of this engine from others in the process
	period int    // counts looks
	sets   map[uint64]origin
	ended  bool // a task has ended since the latest look
}

// origin is what the tasks of one set that start in one period have in common.
type origin struct {
	ctx    context.Context
	label  string
	period int
}

func newOrigins() origins {
	return origins{prefix: strconv.FormatUint(rand.Uint64(), 36), sets: map[uint64]origin{}}
}

// of is the origin of a task of the set that starts now.
func (o *origins) of(ctx context.Context, set *taskSet) origin {
	known, ok := o.sets[set.id]
	if !ok || known.period != o.period {
		label := fmt.Sprintf("%s %d.%d %s", o.prefix, set.id, o.period, set.name)
		known = origin{ctx: pprof.WithLabels(ctx, pprof.Labels(taskLabel, label)), label: label, period: o.period}
		o.sets[set.id] = known
	}
	return known
}

// name is that of the task set behind a label.
func (o *origins) name(label string) string {
	_, rest, _ := strings.Cut(label, " ")
	_, name, _ := strings.Cut(rest, " ")
	return name
}

// look begins a new period and gives the labels of tasks that have not ended;
// none where no task has ended, and there is nothing to look for.
func (e *engine) look(again bool) (live map[string]bool, worthwhile bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.origins.ended && !again {
		return nil, false
	}
	e.origins.ended = false
	e.origins.period++
	live = map[string]bool{}
	for _, t := range e.tasks {
		live[t.origin.label] = true
	}
	for t := range e.stuck {
		live[t.origin.label] = true
	}
	return live, true
}

// nameOutliving names goroutines in the log that go on when the tasks that
// started them have ended, until quit is closed. What is left at one look only
// was about to end.
func (e *engine) nameOutliving(quit <-chan struct{}) {
	timer := time.NewTicker(lookInterval)
	defer timer.Stop()
	suspects := map[string]bool{} // labels of goroutines that the latest look found
	told := map[string][]string{} // functions, by label
	for {
		select {
		case <-quit:
			return
		case <-timer.C:
		}
		live, worthwhile := e.look(len(suspects) > 0)
		if !worthwhile {
			continue
		}
		var profile bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			continue
		}
		left := map[string]bool{}
		for _, g := range labelled(profile.String(), e.origins.prefix+" ") {
			if live[g.label] {
				continue
			}
			left[g.label] = true
			if suspects[g.label] && !slices.Contains(told[g.label], g.function) {
				told[g.label] = append(told[g.label], g.function)
				e.options.Logger.Warn("goroutines go on though the tasks that started them have ended: a task should wait for what it starts",
					"taskSet", e.origins.name(g.label), "function", g.function, "place", g.place, "goroutines", g.count)
			}
		}
		suspects = left
		maps.DeleteFunc(told, func(label string, _ []string) bool { return !left[label] })
	}
}

// goroutines are some of one label and stack.
type goroutines struct {
	label, function, place string // function is the one that they were started with
	count                  int
}

// labelled finds, in a goroutine profile as text, those whose label begins so.
func labelled(profile, prefix string) []goroutines {
	var found []goroutines
	_, profile, _ = strings.Cut(profile, "\n") // the total
	for record := range strings.SplitSeq(profile, "\n\n") {
		head, rest, _ := strings.Cut(record, "\n")
		labels, stack, _ := strings.Cut(rest, "\n")
		_, quoted, ok := strings.Cut(labels, strconv.Quote(taskLabel)+":")
		if !ok || !strings.HasPrefix(labels, "# labels: ") {
			continue
		}
		quoted, err := strconv.QuotedPrefix(quoted)
		if err != nil {
			continue
		}
		label, _ := strconv.Unquote(quoted)
		if !strings.HasPrefix(label, prefix) {
			continue
		}
		count, _, _ := strings.Cut(head, " ")
		g := goroutines{label: label}
		g.count, _ = strconv.Atoi(count)
		frames := strings.Split(strings.TrimSpace(stack), "\n")
		// "#", the address, the function and its offset, the place
		if fields := strings.Fields(frames[len(frames)-1]); len(fields) >= 4 {
			g.function, _, _ = strings.Cut(fields[2], "+0x")
			g.place = fields[3]
		}
		found = append(found, g)
	}
	return found
}

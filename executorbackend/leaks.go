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
	// leakInterval is the time between searches for goroutines that outlive their task.
	leakInterval = 30 * time.Second
	// taskLabel is the key of the profiler label (runtime/pprof) of a task's goroutines.
	taskLabel = "bobbin.task"
)

// leakLabels makes profiler labels for tasks. A goroutine inherits the labels of the goroutine
// that starts it, so the label of a leaked goroutine identifies its task set. To save time,
// tasks of a set that start between two searches share a label. The engine's lock guards
// leakLabels.
type leakLabels struct {
	prefix    string // random; distinguishes this engine's labels from those of other engines in the process
	period    int    // number of searches so far
	sets      map[uint64]leakLabel
	taskEnded bool // set if a task has ended since the last search
}

// leakLabel is the label of all tasks of a set that start in one period: the time between two
// searches.
type leakLabel struct {
	ctx    context.Context
	text   string
	period int
}

func newLeakLabels() leakLabels {
	return leakLabels{prefix: strconv.FormatUint(rand.Uint64(), 36), sets: map[uint64]leakLabel{}}
}

// next returns the label for tasks of a set that start in the current period.
func (l *leakLabels) next(ctx context.Context, set *taskSet) leakLabel {
	label, ok := l.sets[set.id]
	if !ok || label.period != l.period {
		text := fmt.Sprintf("%s %d.%d %s", l.prefix, set.id, l.period, set.name)
		label = leakLabel{ctx: pprof.WithLabels(ctx, pprof.Labels(taskLabel, text)), text: text, period: l.period}
		l.sets[set.id] = label
	}
	return label
}

// taskSetName returns the name of the task set in a label.
func taskSetName(label string) string {
	_, rest, _ := strings.Cut(label, " ")
	_, name, _ := strings.Cut(rest, " ")
	return name
}

// runningLabels reports whether a search is necessary: a task has ended since the last search,
// or the last search found suspects. If so, it begins a new period, and returns the labels of
// the tasks that still run.
func (e *engine) runningLabels(suspects bool) (running map[string]bool, search bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.labels.taskEnded && !suspects {
		return nil, false
	}
	e.labels.taskEnded = false
	e.labels.period++
	running = map[string]bool{}
	for _, t := range e.tasks {
		running[t.leakLabel.text] = true
	}
	for t := range e.stuckTasks {
		running[t.leakLabel.text] = true
	}
	return running, true
}

// watchLeaks logs goroutines that still run although the tasks that started them have ended. It
// returns when quit is closed. It logs a goroutine only if two successive searches find it,
// because a goroutine may be about to end at the first search.
func (e *engine) watchLeaks(quit <-chan struct{}) {
	ticker := time.NewTicker(leakInterval)
	defer ticker.Stop()
	suspects := map[string]bool{}   // labels of leaked goroutines that the last search found
	logged := map[string][]string{} // functions that were logged, by label
	for {
		select {
		case <-quit:
			return
		case <-ticker.C:
		}
		running, search := e.runningLabels(len(suspects) > 0)
		if !search {
			continue
		}
		var profile bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			continue
		}
		leaked := map[string]bool{}
		for _, g := range goroutinesLabelled(profile.String(), e.labels.prefix+" ") {
			if running[g.label] {
				continue
			}
			leaked[g.label] = true
			if suspects[g.label] && !slices.Contains(logged[g.label], g.function) {
				logged[g.label] = append(logged[g.label], g.function)
				e.options.Logger.Warn("goroutines go on though the tasks that started them have ended: a task should wait for what it starts",
					"taskSet", taskSetName(g.label), "function", g.function, "place", g.source, "goroutines", g.count)
			}
		}
		suspects = leaked
		maps.DeleteFunc(logged, func(label string, _ []string) bool { return !leaked[label] })
	}
}

// goroutines describes all goroutines with one label and one stack.
type goroutines struct {
	label    string
	function string // function that the goroutines were started with
	source   string // file and line in that function
	count    int
}

// goroutinesLabelled parses a goroutine profile in text form. It returns the goroutines that have
// the label taskLabel with a value that starts with prefix.
func goroutinesLabelled(profile, prefix string) []goroutines {
	var found []goroutines
	_, profile, _ = strings.Cut(profile, "\n") // the first line is the total
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
		// The fields are "#", the address, the function and its offset, the source line
		if fields := strings.Fields(frames[len(frames)-1]); len(fields) >= 4 {
			g.function, _, _ = strings.Cut(fields[2], "+0x")
			g.source = fields[3]
		}
		found = append(found, g)
	}
	return found
}

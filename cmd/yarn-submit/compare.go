package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

const (
	// minRatio is the smallest ratio of two values that history compare shows as different.
	minRatio = 1.1
	// minTimeDifference is the smallest difference of two durations that history compare shows.
	// Their ratio must also exceed minRatio.
	minTimeDifference = 50 * time.Millisecond
	// maxStages is the maximum number of stages that are printed. They are the stages whose total
	// task time differs most.
	maxStages = 20
)

func newCompare(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "compare [flags] A B",
		Short: "Compare two applications by their event logs",
		Long: `Say in what two runs differ: state, times, failures, executors, settings, and for
each stage its time, tasks, skew and bytes. Stages are matched by their names;
stages with one name count together. A and B are application ids or paths of
logs, which are found as yarn-submit history finds them.`,
		Example: "  yarn-submit history compare application_1700000000000_0001 application_1700000000000_0002",
		Args:    exactArgs("A", "B"),
	}
	directory := addLogDirectory(c)
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		h, err := openHistoryIn(t, *directory)
		if err != nil {
			return err
		}
		defer h.close()
		var runs [2]applicationSums
		for i, named := range args {
			if runs[i], err = h.summarize(c.Context(), t, named); err != nil {
				return err
			}
		}
		compared := compareRuns(runs[0], runs[1])
		if *asJSON {
			return t.printJSON(compared)
		}
		return compared.print(t.stdout)
	}
	return c
}

// applicationSums are the values of one application that history compare compares.
type applicationSums struct {
	state  *events.Snapshot
	stages map[string]*stageSums // by the name of the stage
}

// stageSums are sums over all task sets (stages) of an application that have the same name.
type stageSums struct {
	wall                  time.Duration // sum of the times from submission to end of the task sets
	tasks, failed         int
	took                  time.Duration   // sum of the durations of task attempts
	durations             []time.Duration // durations of successful attempts, sorted
	read, written         int64
	shuffled, spilled     int64
	recordsIn, recordsOut int64
}

func (h *historyReader) summarize(ctx context.Context, t terminal, named string) (applicationSums, error) {
	path, err := h.find(ctx, named)
	if err != nil {
		return applicationSums{}, err
	}
	state, err := h.load(ctx, t, path)
	if err != nil {
		return applicationSums{}, err
	}
	return summarizeRun(state), nil
}

func summarizeRun(state *events.Snapshot) applicationSums {
	r := applicationSums{state: state, stages: map[string]*stageSums{}}
	perSet := map[uint64]*stageSums{}
	for _, job := range state.Jobs {
		for _, set := range job.Sets {
			s := r.stages[set.Name]
			if s == nil {
				s = &stageSums{}
				r.stages[set.Name] = s
			}
			perSet[set.Set] = s
			if !set.Ended.IsZero() {
				s.wall += set.Ended.Sub(set.Time.Time)
			}
			s.tasks += set.Counts.Tasks
			s.failed += set.Counts.FailedAttempts + set.Counts.LostAttempts
			s.took += set.Counts.Sums.Took.Duration()
			s.read += set.Counts.Sums.BytesRead
			s.written += set.Counts.Sums.BytesWritten
		}
	}
	for a := range state.Attempts() {
		if s := perSet[a.Set]; s != nil && a.Outcome == events.OutcomeSucceeded {
			s.durations = append(s.durations, a.Took())
		}
	}
	for m := range state.Measurements() {
		if s := perSet[m.Set]; s != nil {
			s.shuffled += m.ShuffleWritten
			s.spilled += m.Spilled
			s.recordsIn += m.RecordsIn
			s.recordsOut += m.RecordsOut
		}
	}
	for _, s := range r.stages {
		slices.Sort(s.durations)
	}
	return r
}

// skew returns the longest duration of a successful attempt divided by the median duration, rounded
// to one decimal; 0 if no attempt succeeded.
func (s *stageSums) skew() float64 {
	if len(s.durations) == 0 {
		return 0
	}
	median := s.durations[len(s.durations)/2]
	return math.Round(10*float64(s.durations[len(s.durations)-1])/float64(max(median, time.Microsecond))) / 10
}

// comparison is the result of history compare, which it prints as text or as JSON.
type comparison struct {
	A         comparedApplication `json:"a"`
	B         comparedApplication `json:"b"`
	Values    []comparedValue     `json:"values"`   // all values, including equal ones
	Stages    []stageValues       `json:"stages"`   // stages that differ, the largest difference in time first
	Facts     []comparedText      `json:"facts"`    // properties that differ, such as the state
	Settings  []comparedText      `json:"settings"` // settings that differ
	unchanged int                 // number of stages that do not differ
}

type comparedApplication struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// comparedValue is one quantity, with its values for both applications.
type comparedValue struct {
	Name string  `json:"name"`
	Unit string  `json:"unit,omitempty"` // "s", "B" (bytes) or "" for a count or ratio
	A    float64 `json:"a"`
	B    float64 `json:"b"`
}

type stageValues struct {
	Name   string          `json:"name"`
	Only   string          `json:"only,omitempty"` // "a" or "b" if only that application has the stage
	Values []comparedValue `json:"values"`         // values that differ
}

// comparedText is one text property, with its values for both applications.
type comparedText struct {
	Key string `json:"key"`
	A   string `json:"a"`
	B   string `json:"b"`
}

// differs reports whether the difference of A and B is large enough to be shown (see minRatio and
// minTimeDifference).
func (v comparedValue) differs() bool {
	low, high := min(v.A, v.B), max(v.A, v.B)
	if v.Unit == "s" && high-low < minTimeDifference.Seconds() {
		return false
	}
	if v.Unit == "" && v.Name != "skew" {
		return low != high
	}
	return high > minRatio*low
}

func compareRuns(a, b applicationSums) comparison {
	c := comparison{
		A: comparedApplication{a.state.Application.ID, a.state.Application.Name}, B: comparedApplication{b.state.Application.ID, b.state.Application.Name},
		Stages: []stageValues{},
	}
	for _, v := range []struct {
		name, unit string
		get        func(*events.Snapshot) float64
	}{
		{"time", "s", func(s *events.Snapshot) float64 { return ended(s).Sub(s.Application.Time.Time).Seconds() }},
		{"time in tasks", "s", func(s *events.Snapshot) float64 { return s.Totals.Sums.Took.Duration().Seconds() }},
		{"jobs", "", func(s *events.Snapshot) float64 { return float64(s.Totals.Jobs) }},
		{"tasks", "", func(s *events.Snapshot) float64 { return float64(s.Totals.Tasks) }},
		{"tasks done", "", func(s *events.Snapshot) float64 { return float64(s.Totals.Done) }},
		{"failed attempts", "", func(s *events.Snapshot) float64 { return float64(s.Totals.FailedAttempts) }},
		{"lost attempts", "", func(s *events.Snapshot) float64 { return float64(s.Totals.LostAttempts) }},
		{"executors", "", func(s *events.Snapshot) float64 { return float64(len(s.Executors)) }},
		{"cores of executors", "", cores},
		{"executors lost", "", func(s *events.Snapshot) float64 { return float64(s.Totals.Lost) }},
		{"read", "B", func(s *events.Snapshot) float64 { return float64(s.Totals.Sums.BytesRead) }},
		{"written", "B", func(s *events.Snapshot) float64 { return float64(s.Totals.Sums.BytesWritten) }},
	} {
		c.Values = append(c.Values, comparedValue{v.name, v.unit, v.get(a.state), v.get(b.state)})
	}
	c.compareStages(a.stages, b.stages)
	c.Facts = differences(facts(a.state), facts(b.state))
	c.Settings = differences(settingsOf(a.state), settingsOf(b.state))
	return c
}

func ended(s *events.Snapshot) time.Time {
	if s.Application.Ended.IsZero() {
		return s.Latest
	}
	return s.Application.Ended
}

func cores(s *events.Snapshot) float64 {
	n := 0
	for _, e := range s.Executors {
		n += e.Cores
	}
	return float64(n)
}

func (c *comparison) compareStages(a, b map[string]*stageSums) {
	names := map[string]bool{}
	for _, stages := range []map[string]*stageSums{a, b} {
		for name := range stages {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		one, other := a[name], b[name]
		s := stageValues{Name: name}
		switch {
		case one == nil:
			s.Only, one = "b", &stageSums{}
		case other == nil:
			s.Only, other = "a", &stageSums{}
		}
		for _, v := range []comparedValue{
			{"time", "s", one.wall.Seconds(), other.wall.Seconds()},
			{"time in tasks", "s", one.took.Seconds(), other.took.Seconds()},
			{"tasks", "", float64(one.tasks), float64(other.tasks)},
			{"failed attempts", "", float64(one.failed), float64(other.failed)},
			{"skew", "", one.skew(), other.skew()},
			{"read", "B", float64(one.read), float64(other.read)},
			{"written", "B", float64(one.written), float64(other.written)},
			{"shuffle written", "B", float64(one.shuffled), float64(other.shuffled)},
			{"spilled", "B", float64(one.spilled), float64(other.spilled)},
			{"records in", "", float64(one.recordsIn), float64(other.recordsIn)},
			{"records out", "", float64(one.recordsOut), float64(other.recordsOut)},
		} {
			if v.differs() {
				s.Values = append(s.Values, v)
			}
		}
		if len(s.Values) == 0 && s.Only == "" {
			c.unchanged++
			continue
		}
		c.Stages = append(c.Stages, s)
	}
	slowdown := func(s stageValues) float64 {
		for _, v := range s.Values {
			if v.Name == "time in tasks" {
				return math.Abs(v.B - v.A)
			}
		}
		return 0
	}
	slices.SortStableFunc(c.Stages, func(a, b stageValues) int { return cmp.Compare(slowdown(b), slowdown(a)) })
}

// differences returns the entries of a and b whose texts differ, sorted by key.
func differences(a, b map[string]string) []comparedText {
	different := []comparedText{}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if a[key] != b[key] {
			different = append(different, comparedText{key, a[key], b[key]})
		}
	}
	return different
}

func facts(s *events.Snapshot) map[string]string {
	a := s.Application
	return map[string]string{"name": a.Name, "state": a.State, "user": a.User, "bobbin": a.Version, "Go": a.Go}
}

func settingsOf(s *events.Snapshot) map[string]string {
	values := map[string]string{}
	for _, setting := range s.Application.Settings {
		values[setting.Key] = setting.Value
	}
	return values
}

// print writes the comparison as text. For values that differ, it prints the factor between them.
func (c *comparison) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(v comparedValue, indent string) {
		factor := ""
		if v.differs() {
			factor = "(new)"
			if v.A != 0 {
				factor = fmt.Sprintf("x %.3g", v.B/v.A)
			}
		}
		fmt.Fprintf(table, "%s%s\t%s\t%s\t%s\n", indent, v.Name, v.format(v.A), v.format(v.B), factor)
	}
	fmt.Fprintf(table, "\t%s\t%s\t\n", printable(c.A.ID), printable(c.B.ID))
	for _, v := range c.Values {
		if v.A != 0 || v.B != 0 {
			row(v, "")
		}
	}
	for _, s := range slices.Concat(c.Facts, c.Settings) {
		fmt.Fprintf(table, "%s\t%s\t%s\t\n", printable(s.Key), cmp.Or(printable(s.A), "-"), cmp.Or(printable(s.B), "-"))
	}
	for _, s := range c.Stages[:min(len(c.Stages), maxStages)] {
		only := ""
		if s.Only != "" {
			only = " (only " + map[string]string{"a": "the first", "b": "the second"}[s.Only] + ")"
		}
		fmt.Fprintf(table, "stage %s%s\t\t\t\n", printable(s.Name), only)
		for _, v := range s.Values {
			row(v, "  ")
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	shown := ""
	if len(c.Stages) > maxStages {
		shown = fmt.Sprintf(", of which %d are shown", maxStages)
	}
	_, err := fmt.Fprintf(w, "stages that differ by more than 10 %% in something: %d%s; others: %d\n", len(c.Stages), shown, c.unchanged)
	return err
}

func (v comparedValue) format(n float64) string {
	switch v.Unit {
	case "s":
		return time.Duration(n * float64(time.Second)).Round(time.Millisecond).String()
	case "B":
		return fmt.Sprintf("%.1f MiB", n/(1<<20))
	default:
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
}

// printable returns s unchanged if a terminal can print it safely. If s contains control
// characters, printable returns s as a quoted Go string, with these characters escaped.
func printable(s string) string {
	quoted := strconv.Quote(s)
	if quoted == `"`+s+`"` {
		return s
	}
	return quoted
}

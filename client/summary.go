package client

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// summaryPrefix is the prefix of the summary line in the diagnostics from bobbin's
// ApplicationMaster.
const summaryPrefix = "summary: "

// parseSummary returns the key=value pairs of the summary line; nil if there is none. Values with
// spaces are quoted as Go strings.
func parseSummary(diagnostics string) map[string]string {
	for line := range strings.Lines(diagnostics) {
		line = strings.TrimPrefix(strings.TrimSpace(line), recoveredPrefix)
		if pairs, ok := strings.CutPrefix(line, summaryPrefix); ok {
			return parsePairs(pairs)
		}
	}
	return nil
}

func withoutSummary(diagnostics string) string {
	var kept strings.Builder
	for line := range strings.Lines(diagnostics) {
		if !strings.HasPrefix(strings.TrimSpace(line), summaryPrefix) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func parsePairs(text string) map[string]string {
	pairs := map[string]string{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		key, rest, ok := strings.Cut(text, "=")
		if !ok || key == "" || strings.ContainsAny(key, " \"") {
			_, text, _ = strings.Cut(text, " ")
			continue
		}
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			pairs[key], _ = strconv.Unquote(quoted) // cannot fail, because QuotedPrefix has checked the text
			text = rest[len(quoted):]
			continue
		}
		pairs[key], text, _ = strings.Cut(rest, " ")
	}
	return pairs
}

// numbers converts values that are whole numbers to integers, for JSON.
func numbers(pairs map[string]string) map[string]any {
	typed := make(map[string]any, len(pairs))
	for key, value := range pairs {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			typed[key] = n
		} else {
			typed[key] = value
		}
	}
	return typed
}

// localities are the locality levels in the summary, the closest first.
var localities = []struct{ key, words string }{
	{"process_local", "process-local"}, {"node_local", "node-local"}, {"rack_local", "rack-local"}, {"any", "any"}, {"no_pref", "no preference"},
}

// row is a labelled line of a report.
type row struct{ label, text string }

// summaryRows returns rows that describe a summary. Pairs with unknown keys come last, unchanged.
func summaryRows(pairs map[string]string) []row {
	rest := maps.Clone(pairs)
	take := func(key string) (string, bool) {
		value, ok := rest[key]
		delete(rest, key)
		return value, ok
	}
	var rows []row
	if tasks, ok := take("tasks"); ok {
		words := tasks
		if sets, ok := take("task_sets"); ok {
			words += " in " + withNoun(sets, "task set")
		}
		if failed, ok := take("failed_attempts"); ok && failed != "0" {
			words += ", " + withNoun(failed, "failed attempt")
		}
		rows = append(rows, row{"tasks", words})
	}
	var levels []string
	for _, level := range localities {
		if count, ok := take(level.key); ok && count != "0" {
			levels = append(levels, count+" "+level.words)
		}
	}
	if levels != nil {
		rows = append(rows, row{"locality", strings.Join(levels, ", ")})
	}
	if executors, ok := take("executors"); ok {
		if lost, ok := take("lost_executors"); ok && lost != "0" {
			executors += ", " + lost + " lost"
		}
		rows = append(rows, row{"executors", executors})
	}
	if ended, ok := take("ended"); ok {
		rows = append(rows, row{"ended", ended})
	}
	if excluded, ok := take("excluded"); ok {
		rows = append(rows, row{"excluded", excluded})
	}
	if run, ok := take("run"); ok {
		rows = append(rows, row{"run", run})
	}
	mainCosts, hasCosts := take("costs") // what the run time was spent on, one cause a line
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		rows = append(rows, row{strings.ReplaceAll(key, "_", " "), rest[key]})
	}
	if hasCosts {
		rows = append(rows, list("cost most", strings.Split(mainCosts, "\n"))...)
	}
	return rows
}

// withNoun returns n followed by the noun, which is in the plural if n is not 1.
func withNoun[N string | int](n N, noun string) string {
	number := fmt.Sprint(n)
	if number != "1" {
		noun += "s"
	}
	return number + " " + noun
}

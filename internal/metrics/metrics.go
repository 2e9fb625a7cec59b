// Package metrics writes metrics in the text format that Prometheus scrapes.
//
// A [Family] describes a metric. Who has its values adds them to a [Set], which is made
// anew for each scrape: nothing is counted here.
package metrics

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Path is where a web server serves its metrics.
const Path = "/metrics"

// Type is the type of a metric.
type Type string

const (
	Counter Type = "counter" // only grows, until its process ends
	Gauge   Type = "gauge"
)

// Family describes a metric.
type Family struct {
	Name   string // ends with the unit, and with _total if Type is Counter
	Type   Type
	Help   string // one sentence
	Labels []string
}

// Set has the values of metrics at one moment. The zero value is empty.
type Set struct {
	text   bytes.Buffer
	latest *Family
}

// Add adds a value with the values of the family's labels. All values of a family must
// be added one after the other.
func (s *Set) Add(f *Family, value float64, labels ...string) {
	if s.latest != f {
		s.latest = f
		fmt.Fprintf(&s.text, "# HELP %s %s\n# TYPE %s %s\n", f.Name, helpText.Replace(f.Help), f.Name, f.Type)
	}
	s.text.WriteString(f.Name)
	for i, label := range labels {
		separator := ","
		if i == 0 {
			separator = "{"
		}
		fmt.Fprintf(&s.text, `%s%s="%s"`, separator, f.Labels[i], labelValue.Replace(strings.ToValidUTF8(label, "\uFFFD")))
	}
	if len(labels) > 0 {
		s.text.WriteByte('}')
	}
	s.text.WriteByte(' ')
	s.text.WriteString(strconv.FormatFloat(value, 'g', -1, 64))
	s.text.WriteByte('\n')
}

// Counts are numbers by the value of a label, such as numbers of workers by state.
type Counts map[string]int

// AddCounts adds the values of a family with one label, sorted by label value.
func (s *Set) AddCounts(f *Family, counts Counts) {
	for _, label := range slices.Sorted(maps.Keys(counts)) {
		s.Add(f, float64(counts[label]), label)
	}
}

var (
	helpText   = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// Bytes returns the text of the values.
func (s *Set) Bytes() []byte { return s.text.Bytes() }

// collectTimeout bounds how long a scrape waits for the values: less than the 10 s that
// Prometheus waits by default.
const collectTimeout = 8 * time.Second

// Handler returns a handler that serves the values that collect adds, and those of this
// process. An error of collect is answered with the status 503.
func Handler(collect func(ctx context.Context, set *Set) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), collectTimeout)
		defer cancel()
		set := &Set{}
		if err := collect(ctx, set); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		AddProcess(set)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(set.Bytes()) // fails if the client has disconnected
	})
}

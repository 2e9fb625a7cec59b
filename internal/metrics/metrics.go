// Package metrics writes metrics in the text format that Prometheus scrapes.
//
// A [Family] describes a metric. A [Table] has several metrics, with functions that compute
// their values from a state. For each scrape, the values are added to a new [Set]: this package
// counts nothing itself.
package metrics

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Path is the path at which a web server serves its metrics.
const Path = "/metrics"

// Type is the type of a metric.
type Type string

const (
	Counter Type = "counter" // grows only, from 0 at the start of the process
	Gauge   Type = "gauge"   // can grow and shrink
)

// Family describes a metric.
type Family struct {
	Name   string // ends with the unit, if any, followed by _total if Type is Counter
	Type   Type
	Help   string // one sentence
	Labels []string
}

// Value is a value of a metric, with the values of the family's labels.
type Value struct {
	*Family
	Number float64
	Values []string
}

// Set has the values of metrics at one moment. The zero value is empty.
type Set struct {
	values []Value
}

// Add adds a value with the values of the family's labels. All values of a family must
// be added one after the other.
func (s *Set) Add(f *Family, value float64, labels ...string) {
	s.values = append(s.values, Value{Family: f, Number: value, Values: labels})
}

// Values returns the values in the order in which they were added.
func (s *Set) Values() []Value { return s.values }

var (
	helpText   = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// Bytes returns the values in the text format of Prometheus.
func (s *Set) Bytes() []byte {
	var text bytes.Buffer
	var latest *Family
	for _, v := range s.values {
		if v.Family != latest {
			latest = v.Family
			fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %s %s\n", v.Name, helpText.Replace(v.Help), v.Name, v.Type)
		}
		text.WriteString(v.Name)
		for i, label := range v.Values {
			separator := ","
			if i == 0 {
				separator = "{"
			}
			fmt.Fprintf(&text, `%s%s="%s"`, separator, v.Labels[i], labelValue.Replace(strings.ToValidUTF8(label, "\uFFFD")))
		}
		if len(v.Values) > 0 {
			text.WriteByte('}')
		}
		text.WriteByte(' ')
		text.WriteString(strconv.FormatFloat(v.Number, 'g', -1, 64))
		text.WriteByte('\n')
	}
	return text.Bytes()
}

// collectTimeout limits how long a scrape waits for the values. It is less than the 10 s that
// Prometheus waits by default.
const collectTimeout = 8 * time.Second

// Handler returns a handler that serves the values that collect adds to a Set, and the metrics
// of this process. If collect fails, the handler answers with status 503.
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

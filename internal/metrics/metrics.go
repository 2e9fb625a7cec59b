// Package metrics writes metrics in the text format that Prometheus scrapes.
//
// A [Family] describes a metric. A [Table] is a list of metrics, with functions that compute
// their values from a state. Each scrape computes all values anew and adds them to a new [Set];
// this package stores no counters.
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

// Path is the URL path at which a process serves its metrics.
const Path = "/metrics"

// Type is the type of a metric.
type Type string

const (
	Counter Type = "counter" // never decreases; starts at 0 with the process
	Gauge   Type = "gauge"   // can increase and decrease
)

// Family describes a metric.
type Family struct {
	Name   string // ends with the unit, if any, and then with _total if Type is Counter
	Type   Type
	Help   string // one sentence
	Labels []string
}

// Value is one value of a metric, with the values of the metric's labels.
type Value struct {
	*Family
	Number float64
	Values []string
}

// Set is a list of values of metrics at one moment. The zero value is an empty list.
type Set struct {
	values []Value
}

// Add adds a value of the family f. labels are the values of the family's labels. The values of
// one family must be added without values of other families between them.
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

// collectTimeout limits how long a scrape waits for the values. It is less than Prometheus'
// default timeout, 10 s.
const collectTimeout = 8 * time.Second

// Handler returns a handler that serves the values that collect adds to a Set, and the metrics
// of this process. If collect fails, the response has status 503.
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
		_, _ = w.Write(set.Bytes()) // an error means that the client has disconnected
	})
}

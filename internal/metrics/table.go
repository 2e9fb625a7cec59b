package metrics

import (
	"maps"
	"slices"
)

// Metric is a family with a function that computes the family's values from a state. The
// function calls add for each value.
type Metric[S any] struct {
	Family
	Values func(state S, add Add)
}

// Add adds one value of a metric, with the values of the metric's labels.
type Add func(value float64, labels ...string)

// New returns a metric, with or without labels. The function values computes its values.
func New[S any](family Family, values func(state S, add Add)) Metric[S] {
	return Metric[S]{Family: family, Values: values}
}

// NewGauge returns a gauge without labels.
func NewGauge[S any](name, help string, value func(S) float64) Metric[S] {
	return New(Family{Name: name, Type: Gauge, Help: help}, func(s S, add Add) { add(value(s)) })
}

// NewCounter returns a counter without labels.
func NewCounter[S any](name, help string, value func(S) float64) Metric[S] {
	return New(Family{Name: name, Type: Counter, Help: help}, func(s S, add Add) { add(value(s)) })
}

// Table is a list of metrics that are computed from the same state.
type Table[S any] []Metric[S]

// AddTo computes the values of the metrics from a state and adds them to set.
func (t Table[S]) AddTo(set *Set, state S) {
	for i := range t {
		m := &t[i]
		m.Values(state, func(value float64, labels ...string) { set.Add(&m.Family, value, labels...) })
	}
}

// Families returns the families of the metrics.
func (t Table[S]) Families() []*Family {
	var families []*Family
	for i := range t {
		families = append(families, &t[i].Family)
	}
	return families
}

// AddCounts calls add for each distinct string in labels, in sorted order. It passes the number
// of occurrences of the string as the metric's value, and the string as the label's value.
func AddCounts(add Add, labels []string) {
	counts := map[string]int{}
	for _, label := range labels {
		counts[label]++
	}
	for _, label := range slices.Sorted(maps.Keys(counts)) {
		add(float64(counts[label]), label)
	}
}

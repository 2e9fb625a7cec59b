// Package figures prints the results of benchmarks as JSON, one object in each line.
package figures

import (
	"encoding/json"
	"io"
	"slices"
)

// Figure is one measurement.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // "" means that the value is a ratio
}

// Print writes the figures to w, one in each line.
func Print(w io.Writer, figures ...Figure) error {
	encoder := json.NewEncoder(w)
	for _, figure := range figures {
		if err := encoder.Encode(figure); err != nil {
			return err
		}
	}
	return nil
}

// Median returns the median of values: the middle value, or the mean of the two middle values.
// It panics if values is empty.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

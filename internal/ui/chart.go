package ui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// chart is a drawing: either a histogram (Bars), or a curve (Line), possibly with a horizontal
// line at a limit. Coordinates are in units of the drawing; y is the distance from the top of
// the drawing.
type chart struct {
	Label         string
	Width, Height int
	Bars          []bar
	Line          string  // points of a polyline, "x,y x,y"; "" for a histogram
	Limit         float64 // y of the horizontal line; 0 if there is no limit
	From, To      string  // labels at the ends of the horizontal axis
}

type bar struct {
	X, Y, Width, Height float64
	Hint                string
}

const (
	chartBars   = 40
	barWidth    = 10 // including the gap to the next bar
	chartHeight = 100
)

// histogram returns a chart that shows how many durations are in each of several intervals of
// the same length. It returns nil if there are no durations.
func histogram(label string, durations []time.Duration) *chart {
	if len(durations) == 0 {
		return nil
	}
	low, high := slices.Min(durations), slices.Max(durations)
	width := max((high-low)/chartBars, 1)
	var counts [chartBars]int
	for _, d := range durations {
		counts[min(int((d-low)/width), chartBars-1)]++
	}
	highest := float64(slices.Max(counts[:]))
	c := &chart{Label: label, Width: chartBars * barWidth, Height: chartHeight, From: duration(low), To: duration(high)}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		height := max(1, math.Round(float64(n)/highest*chartHeight))
		from := low + time.Duration(i)*width
		c.Bars = append(c.Bars, bar{
			X: float64(i * barWidth), Y: chartHeight - height, Width: barWidth - 1, Height: height,
			Hint: fmt.Sprintf("%s – %s: %s", duration(from), duration(from+width), plural(n, "task")),
		})
	}
	return c
}

// memoryChart returns a chart of the memory of an executor's process over time, with a line at
// limit unless limit is 0. The executor must have at least two samples.
func memoryChart(e *events.Executor, limit int64) *chart {
	const width, height = 400, 100
	first, last := e.Memory[0].Time, e.Memory[len(e.Memory)-1].Time
	top := float64(max(peak(e), limit, 1)) * 1.05
	c := &chart{
		Label: "Memory of the process, at most " + size(peak(e)), Width: width, Height: height,
		From: instant(first.Time()).Text, To: instant(last.Time()).Text,
	}
	if limit > 0 {
		c.Label += "; the line is the limit, " + size(limit)
		c.Limit = height - float64(limit)/top*height
	}
	var points strings.Builder
	for _, sample := range e.Memory {
		x := float64(sample.Time-first) / float64(max(last-first, 1)) * width
		fmt.Fprintf(&points, "%.1f,%.1f ", x, height-float64(sample.Resident)/top*height)
	}
	c.Line = strings.TrimSpace(points.String())
	return c
}

// quantile returns the value at a fraction (0 to 1) of sorted values; for .5 it is the median.
// It returns the zero value if there are no values.
func quantile[T any](sorted []T, fraction float64) (value T) {
	if len(sorted) == 0 {
		return value
	}
	return sorted[int(math.Round(fraction*float64(len(sorted)-1)))]
}

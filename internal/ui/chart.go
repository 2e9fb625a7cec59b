package ui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// chart is a histogram, or a line below a limit. Coordinates are in units of the drawing,
// with y from its top.
type chart struct {
	Label         string
	Width, Height int
	Bars          []bar
	Line          string  // points of a polyline, "x,y x,y"; "" for none
	Limit         float64 // y of a horizontal line; 0 for none
	From, To      string  // ends of the horizontal axis
}

type bar struct {
	X, Y, Width, Height float64
	Hint                string
}

const (
	chartBars   = 40
	barWidth    = 10 // with the gap
	chartHeight = 100
)

// histogram shows how many durations are of which length; nil without any.
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

// memoryChart shows the memory of an executor's process over time, and the limit; 0 for
// none. The executor has at least two samples.
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

// quantile returns the value at a fraction of sorted values; the zero value without any.
func quantile[T any](sorted []T, fraction float64) (value T) {
	if len(sorted) == 0 {
		return value
	}
	return sorted[int(math.Round(fraction*float64(len(sorted)-1)))]
}

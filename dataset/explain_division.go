package dataset

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// explainDivision returns the text for [StageSummary.Division] of a stage. tasks has what
// each task computes, sizes has the bytes of each partition, and target is the approximate
// number of bytes that a task should read.
func (e *engine) explainDivision(s *stageState, l *layout, tasks []assignment, sizes []int64, target int64) string {
	var reasons []string
	var measured int64
	read := false
	l.within(s.final, func(n *node) {
		if why := e.joinOf(n).why; why != "" {
			reasons = append(reasons, why)
		}
		for _, x := range n.shuffles {
			if n.shared {
				continue
			}
			read = true
			for _, bytes := range e.sizesOf(x).total {
				measured += bytes
			}
			if x.sample != nil {
				reasons = append(reasons, explainRanges(n, l.Bounds[x.id()]))
			}
		}
		for _, input := range n.copartitioned {
			reasons = append(reasons, fmt.Sprintf("%s is divided by the keys of %s: no shuffle", input, n))
		}
	})
	if !read {
		return strings.Join(reasons, "; ")
	}
	reasons = append(reasons, fmt.Sprintf("%d partitions with %s: %d tasks of about %s", len(sizes), size(measured), len(tasks), size(target)))
	pieces := map[int]int{} // number of pieces of each divided partition
	for _, task := range tasks {
		if task.Shuffle != 0 {
			pieces[task.First]++
		}
	}
	if len(pieces) > 0 {
		sorted := slices.Sorted(slices.Values(sizes))
		n := 0
		for _, count := range pieces {
			n += count
		}
		reasons = append(reasons, fmt.Sprintf("%d skewed partitions, the largest with %s, the median one with %s: %d pieces",
			len(pieces), size(sorted[len(sorted)-1]), size(sorted[len(sorted)/2]), n))
	}
	return strings.Join(reasons, "; ")
}

// explainRanges describes the ranges into which bounds divide the keys of n, a sort.
func explainRanges(n *node, bounds [][]byte) string {
	frequent := 0 // number of keys that are in several ranges
	for i := 1; i < len(bounds); i++ {
		if bytes.Equal(bounds[i-1], bounds[i]) && (i == 1 || !bytes.Equal(bounds[i-2], bounds[i])) {
			frequent++
		}
	}
	text := fmt.Sprintf("%d ranges by sampled keys of %s", len(bounds)+1, n)
	if frequent > 0 {
		text += fmt.Sprintf(", frequent keys with several ranges: %d", frequent)
	}
	return text
}

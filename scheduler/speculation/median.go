package speculation

import "time"

// Median keeps the median of the durations that are added to it.
type Median struct {
	// low is a heap of the lower half, negated; high is a heap of the upper half. low
	// has as many values as high or one more.
	low, high minHeap
}

func (m *Median) Add(d time.Duration) {
	if len(m.low) > 0 && d > -m.low[0] {
		m.high.push(d)
	} else {
		m.low.push(-d)
	}
	switch {
	case len(m.low) > len(m.high)+1:
		m.high.push(-m.low.pop())
	case len(m.high) > len(m.low):
		m.low.push(-m.high.pop())
	}
}

// Value returns the median, halfway between two middle values; 0 if there are no
// values.
func (m *Median) Value() time.Duration {
	switch {
	case len(m.low) == 0:
		return 0
	case len(m.low) > len(m.high):
		return -m.low[0]
	default:
		return (m.high[0] - m.low[0]) / 2
	}
}

// minHeap is a binary heap with the least value first.
type minHeap []time.Duration

func (h *minHeap) push(d time.Duration) {
	*h = append(*h, d)
	heap, at := *h, len(*h)-1
	for at > 0 {
		parent := (at - 1) / 2
		if heap[parent] <= d {
			break
		}
		heap[at] = heap[parent]
		at = parent
	}
	heap[at] = d
}

func (h *minHeap) pop() time.Duration {
	heap := *h
	least, last := heap[0], len(heap)-1
	d := heap[last]
	heap = heap[:last]
	*h = heap
	at := 0
	for {
		next := 2*at + 1
		if next >= last {
			break
		}
		if next+1 < last && heap[next+1] < heap[next] {
			next++
		}
		if d <= heap[next] {
			break
		}
		heap[at] = heap[next]
		at = next
	}
	if last > 0 {
		heap[at] = d
	}
	return least
}

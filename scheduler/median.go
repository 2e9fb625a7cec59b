package scheduler

import "time"

// median has the median of numbers that come one by one.
type median struct {
	// low has the lower half as a heap of the negated, high the upper half as a
	// heap; low has as many as high, or one more.
	low, high minHeap
}

func (m *median) add(d time.Duration) {
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

// median is the number in the middle, or between the two that are; 0 of none.
func (m *median) median() time.Duration {
	switch {
	case len(m.low) == 0:
		return 0
	case len(m.low) > len(m.high):
		return -m.low[0]
	default:
		return (m.high[0] - m.low[0]) / 2
	}
}

// minHeap has its least first.
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

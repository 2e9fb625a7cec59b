package yarntest

import (
	"container/heap"
	"time"
)

type event struct {
	at     time.Time
	order  int64 // increases with each event; orders events at the same time
	action func()
	index  int // index in the heap; -1 if the event is not in the heap
}

type eventHeap []*event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].order < h[j].order
}
func (h eventHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *eventHeap) Push(x any) {
	e := x.(*event)
	e.index = len(*h)
	*h = append(*h, e)
}
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = -1
	return e
}

// after schedules a call of action for the time when the duration wait has passed. The caller must
// have locked c.mu, and c.mu is also locked during the call of action.
func (c *Cluster) after(wait time.Duration, action func()) *event {
	return c.at(time.Now().Add(wait), action)
}

func (c *Cluster) at(when time.Time, action func()) *event {
	c.scheduled++
	e := &event{at: when, order: c.scheduled, action: action}
	heap.Push(&c.events, e)
	if e.index == 0 {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	return e
}

// cancel cancels an event. It has no effect if the event is nil or has occurred.
func (c *Cluster) cancel(e *event) {
	if e != nil && e.index >= 0 {
		heap.Remove(&c.events, e.index)
	}
}

// run executes the actions of events until the cluster is closed.
func (c *Cluster) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(c.runDue())
		select {
		case <-timer.C:
		case <-c.wake:
		case <-c.ctx.Done():
			return
		}
	}
}

// runDue executes the actions of due events, and returns the time until the next event.
func (c *Cluster) runDue() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.events) > 0 {
		next := c.events[0]
		if wait := time.Until(next.at); wait > 0 {
			return wait
		}
		heap.Pop(&c.events)
		next.action()
		c.changed()
	}
	return time.Hour
}

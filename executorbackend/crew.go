package executorbackend

import "sync"

// crew is the goroutines in which tasks run, each one task after the other. A
// goroutine of its own for each task would have its stack grown each time, which
// costs more than a short task does.
type crew struct {
	// run runs a task, and says which one is to follow in the same goroutine, if
	// any. It is told whether the goroutine had to be woken for the task.
	run   func(t *task, woken bool) *task
	most  int             // that wait for further tasks
	alive *sync.WaitGroup // done when the goroutines have ended

	mu     sync.Mutex
	idle   []chan *task // of those that wait, the one that ran last at the end
	closed bool
}

// start runs a task in a goroutine of the crew, without waiting.
func (c *crew) start(t *task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.idle) - 1; last >= 0 {
		c.idle[last] <- t // it holds one
		c.idle = c.idle[:last]
		return
	}
	c.alive.Go(func() {
		next := make(chan *task, 1)
		for t := t; t != nil; t = <-next {
			for woken := true; t != nil; woken = false {
				t = c.run(t, woken) // it does not return where the function ends its goroutine
			}
			if !c.rest(next) {
				return
			}
		}
	})
}

// rest has a goroutine wait for its next task, unless there is none to wait for.
func (c *crew) rest(next chan *task) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) >= c.most {
		return false
	}
	c.idle = append(c.idle, next)
	return true
}

// close has the goroutines end, those that run a task once that has ended.
func (c *crew) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, next := range c.idle {
		close(next)
	}
	c.idle = nil
}

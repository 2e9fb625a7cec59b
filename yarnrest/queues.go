package yarnrest

import (
	"context"
	"strings"
)

// Scheduler describes the ResourceManager's scheduler and its queues.
type Scheduler struct {
	Type   string // "capacityScheduler", "fairScheduler", "fifoScheduler"
	Queues []Queue
}

// Queue is a queue of the scheduler. Capacities are in percent of the parent
// queue; absolute capacities are in percent of the cluster. The FairScheduler
// does not report capacities.
type Queue struct {
	Name             string // "default"
	Path             string // "root.default"
	Parent           string // the parent's path, "" for the root
	Leaf             bool   // whether the queue can run applications
	State            string // "RUNNING", "STOPPED", "DRAINING"
	Capacity         float64
	MaxCapacity      float64
	UsedCapacity     float64
	AbsoluteCapacity float64
	// MaximumAllocation is the largest container that the queue allows; zero if unknown.
	MaximumAllocation Resource
}

// Scheduler returns the scheduler and its queues, in depth-first order from the root.
func (c *Client) Scheduler(ctx context.Context) (*Scheduler, error) {
	a, root, err := c.get(ctx, "/ws/v1/cluster/scheduler", nil)
	if err != nil {
		return nil, err
	}
	info := root.at("scheduler", "schedulerInfo")
	if !info.present() {
		return nil, a.missingPart("schedulerInfo")
	}
	s := &Scheduler{Type: info.at("type").text()}
	switch {
	case info.at("rootQueue").present():
		s.Queues = flattenQueues(nil, info.at("rootQueue"), "", 0)
	case info.at("queueName").present():
		s.Queues = flattenQueues(nil, info, "", 0)
	default: // the FIFO scheduler, which has only one queue
		s.Queues = []Queue{{Name: "default", Path: "default", Leaf: true, State: orRunning(info.at("qstate").text()),
			Capacity: 100, MaxCapacity: 100, AbsoluteCapacity: 100, UsedCapacity: 100 * info.at("usedCapacity").float()}}
	}
	return s, nil
}

// Find returns the leaf queue whose name or path is queue.
func (s *Scheduler) Find(queue string) (Queue, bool) {
	for _, q := range s.Queues {
		if q.Leaf && (q.Path == queue || q.Name == queue) {
			return q, true
		}
	}
	return Queue{}, false
}

// maxQueueDepth limits the depth of the queue hierarchy. Real hierarchies have a few levels.
const maxQueueDepth = 100

func flattenQueues(queues []Queue, n jsonValue, parent string, depth int) []Queue {
	if depth == maxQueueDepth {
		return queues
	}
	name := n.at("queueName").text()
	path := n.at("queuePath").text()
	switch {
	case path != "":
	case strings.Contains(name, "."): // the fair scheduler names queues by path
		path = name
	case parent == "":
		path = name
	default:
		path = parent + "." + name
	}
	children := n.at("queues", "queue").list()
	if children == nil {
		children = n.at("childQueues", "queue").list()
	}
	leaf := parent != "" && len(children) == 0
	if kind := n.at("queueType").text(); kind != "" {
		leaf = kind == "leaf"
	}
	queues = append(queues, Queue{
		Name:              path[strings.LastIndexByte(path, '.')+1:],
		Path:              path,
		Parent:            parent,
		Leaf:              leaf,
		State:             orRunning(n.at("state").text()),
		Capacity:          n.at("capacity").float(),
		MaxCapacity:       n.at("maxCapacity").float(),
		UsedCapacity:      n.at("usedCapacity").float(),
		AbsoluteCapacity:  n.at("absoluteCapacity").float(),
		MaximumAllocation: decodeResource(firstPresent(n.at("maximumAllocation"), n.at("maxContainerAllocation"))),
	})
	for _, child := range children {
		queues = flattenQueues(queues, child, path, depth+1)
	}
	return queues
}

func firstPresent(values ...jsonValue) jsonValue {
	for _, n := range values {
		if n.present() {
			return n
		}
	}
	return jsonValue{}
}

// orRunning returns state, or "RUNNING" if state is "", because some schedulers, and the
// root queue, report no state.
func orRunning(state string) string {
	if state == "" {
		return "RUNNING"
	}
	return state
}

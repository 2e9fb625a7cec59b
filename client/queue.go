package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// chooseQueue returns the queue to which the application is submitted. name is the queue in the
// settings, and asked is set if the user has chosen it. If there is no such queue and the user has
// chosen it, chooseQueue fails, unless the scheduler creates queues on demand. If there is no such
// queue and the user has not chosen it, chooseQueue returns the largest queue of a
// CapacityScheduler. For other schedulers it returns name, because their placement rules choose the
// queue.
func chooseQueue(scheduler *yarnrest.Scheduler, name string, asked bool, console *Console) (string, error) {
	if queue, ok := scheduler.Find(name); ok {
		if queue.State != "RUNNING" {
			return "", fmt.Errorf("the queue %s is %s and takes no applications: name another with --queue; there are %s", name, queue.State, leafNames(scheduler))
		}
		return name, nil
	}
	if !asked {
		largest, ok := largestLeaf(scheduler)
		if !ok || scheduler.Type != capacityScheduler {
			return name, nil
		}
		console.Print("no queue was named and there is no queue %s: submitting to %s, the largest; there are %s", name, largest.Path, leafNames(scheduler))
		return largest.Name, nil
	}
	isParent := func(wanted string) bool {
		return slices.ContainsFunc(scheduler.Queues, func(q yarnrest.Queue) bool {
			return !q.Leaf && (q.Path == wanted || q.Name == wanted)
		})
	}
	if isParent(name) {
		return "", fmt.Errorf("the queue %s only holds other queues: name one that takes applications with --queue; there are %s", name, leafNames(scheduler))
	}
	// The FairScheduler and auto-created queues of the CapacityScheduler create queues on demand.
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && isParent(name[:dot]) || scheduler.Type == "fairScheduler" {
		return name, nil
	}
	return "", fmt.Errorf("the queue %s does not exist: name another with --queue (yarn.queue); there are %s", name, leafNames(scheduler))
}

// capacityScheduler is the name of the CapacityScheduler in the REST API.
const capacityScheduler = "capacityScheduler"

// largestLeaf returns the running leaf queue with the largest share of the cluster. Among equal
// queues, it returns the first.
func largestLeaf(scheduler *yarnrest.Scheduler) (largest yarnrest.Queue, found bool) {
	for _, queue := range scheduler.Queues {
		if queue.Leaf && queue.State == "RUNNING" && (!found || queue.AbsoluteCapacity > largest.AbsoluteCapacity) {
			largest, found = queue, true
		}
	}
	return largest, found
}

func leafNames(scheduler *yarnrest.Scheduler) string {
	var names []string
	for _, queue := range scheduler.Queues {
		switch {
		case !queue.Leaf:
		case queue.State != "RUNNING":
			names = append(names, queue.Path+" ("+queue.State+")")
		default:
			names = append(names, queue.Path)
		}
	}
	const most = 20
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// clearance is what the ResourceManager said before anything was uploaded.
type clearance struct {
	applicationID string
	queue         string
	racks         map[string]string      // of the nodes that are up, by host
	nodes         map[string]launch.Node // what these offer
}

// preflight asks the ResourceManager for an application's id, and compares the
// request with its queues, its largest container and its node labels.
func (c *Cluster) preflight(ctx context.Context, settings *config.Config, console *Console) (*clearance, error) {
	var application *yarnrest.NewApplication
	var scheduler *yarnrest.Scheduler
	group, asking := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		application, err = c.rest.NewApplication(asking)
		return err
	})
	group.Go(func() (err error) {
		scheduler, err = c.rest.Scheduler(asking)
		return err
	})
	var nodes []yarnrest.Node
	group.Go(func() (err error) {
		nodes, err = c.rest.Nodes(asking, "RUNNING")
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, Refused(err)
	}
	if len(nodes) == 0 {
		console.Warn("the cluster has no node that is up: the application waits until one is")
	}
	name, err := chooseQueue(scheduler, config.Queue.In(settings), settings.IsSet(config.Queue.Name()), console)
	if err != nil {
		return nil, Refused(err)
	}
	maximum := application.MaximumAllocation
	if queue, ok := scheduler.Find(name); ok {
		maximum = smaller(maximum, queue.MaximumAllocation)
	}
	if err := checkSizes(settings, maximum); err != nil {
		return nil, Refused(err)
	}
	if err := c.checkHeartbeat(settings); err != nil {
		return nil, Refused(err)
	}
	if err := c.checkLabels(ctx, settings); err != nil {
		return nil, Refused(err)
	}
	warnOfRoom(settings, nodes, console)
	c.warnOfSettings(settings, console)
	racks, offers := make(map[string]string, len(nodes)), make(map[string]launch.Node, len(nodes))
	for _, node := range nodes {
		racks[node.Host] = node.Rack
		offers[node.Host] = offerOf(node)
	}
	return &clearance{applicationID: application.ID, queue: name, racks: racks, nodes: offers}, nil
}

// checkHeartbeat compares the ApplicationMaster's heartbeats with the time after
// which the ResourceManager takes a silent one for dead.
func (c *Cluster) checkHeartbeat(settings *config.Config) error {
	const usual = 10 * time.Minute
	expiry, err := c.hadoop.Duration("yarn.am.liveness-monitor.expiry-interval-ms", usual, time.Millisecond)
	if err != nil {
		return err
	}
	return config.CheckHeartbeat(settings, expiry)
}

// offerOf is what a node has for containers, used or not.
func offerOf(node yarnrest.Node) launch.Node {
	offer := launch.Node{
		Label:    strings.Join(node.Labels, ","),
		MemoryMB: cmp.Or(node.Total.MemoryMB, node.UsedMemoryMB+node.AvailableMemoryMB),
		VCores:   cmp.Or(node.Total.VCores, int(node.UsedVCores+node.AvailableVCores)),
	}
	for _, amount := range node.Total.Types {
		if amount.Name != "memory-mb" && amount.Name != "vcores" {
			if offer.Others == nil {
				offer.Others = map[string]int64{}
			}
			offer.Others[amount.Name] = amount.Value
		}
	}
	return offer
}

// chooseQueue finds the queue to submit to. A queue that was asked for must
// exist. Where none was asked for and the cluster has no queue of the default
// name, which the CapacityScheduler would refuse, the largest queue will do;
// other schedulers' placement rules decide.
func chooseQueue(scheduler *yarnrest.Scheduler, name string, asked bool, console *Console) (string, error) {
	if queue, ok := scheduler.Find(name); ok {
		if queue.State != "RUNNING" {
			return "", fmt.Errorf("the queue %s is %s and takes no applications: name another with --queue; there are %s", name, queue.State, leaves(scheduler))
		}
		return name, nil
	}
	if !asked {
		largest, ok := largestLeaf(scheduler)
		if !ok || scheduler.Type != capacityScheduler {
			return name, nil
		}
		console.Print("no queue was named and there is no queue %s: submitting to %s, the largest; there are %s", name, largest.Path, leaves(scheduler))
		return largest.Name, nil
	}
	byName := func(wanted string) bool {
		return slices.ContainsFunc(scheduler.Queues, func(q yarnrest.Queue) bool {
			return !q.Leaf && (q.Path == wanted || q.Name == wanted)
		})
	}
	if byName(name) {
		return "", fmt.Errorf("the queue %s only holds other queues: name one that takes applications with --queue; there are %s", name, leaves(scheduler))
	}
	// Some schedulers make queues for users below a parent when they are asked to.
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && byName(name[:dot]) || scheduler.Type == "fairScheduler" {
		return name, nil
	}
	return "", fmt.Errorf("the queue %s does not exist: name another with --queue (yarn.queue); there are %s", name, leaves(scheduler))
}

// capacityScheduler is how the CapacityScheduler calls itself.
const capacityScheduler = "capacityScheduler"

// largestLeaf is the running queue with the largest share of the cluster, the
// first among equals.
func largestLeaf(scheduler *yarnrest.Scheduler) (largest yarnrest.Queue, found bool) {
	for _, queue := range scheduler.Queues {
		if queue.Leaf && queue.State == "RUNNING" && (!found || queue.AbsoluteCapacity > largest.AbsoluteCapacity) {
			largest, found = queue, true
		}
	}
	return largest, found
}

// leaves names the queues that take applications.
func leaves(scheduler *yarnrest.Scheduler) string {
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

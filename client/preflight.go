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

// preflightAnswer contains the ResourceManager's answers to the requests before the upload.
type preflightAnswer struct {
	applicationID string
	queue         string
	racks         map[string]string      // racks of the running nodes, by host
	nodes         map[string]launch.Node // label and total resources of the running nodes, by host
}

// preflight requests a new application id, and checks the settings against the cluster's queues,
// maximum allocation and node labels.
func (c *Cluster) preflight(ctx context.Context, settings *config.Config, console *Console) (*preflightAnswer, error) {
	var application *yarnrest.NewApplication
	var scheduler *yarnrest.Scheduler
	group, asking := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		application, err = c.newApplication(asking)
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
		return nil, RefusedError(err)
	}
	if len(nodes) == 0 {
		console.Warn("the cluster has no node that is up: the application waits until one is")
	}
	name, err := chooseQueue(scheduler, config.Queue.In(settings), settings.IsSet(config.Queue.Name()), console)
	if err != nil {
		return nil, RefusedError(err)
	}
	maximum := application.MaximumAllocation
	if queue, ok := scheduler.Find(name); ok {
		maximum = minResource(maximum, queue.MaximumAllocation)
	}
	if err := checkSizes(settings, maximum); err != nil {
		return nil, RefusedError(err)
	}
	if err := c.checkHeartbeat(settings); err != nil {
		return nil, RefusedError(err)
	}
	if err := c.checkLabels(ctx, settings); err != nil {
		return nil, RefusedError(err)
	}
	warnIfNothingFits(settings, nodes, console)
	c.warnOfIneffectiveSettings(settings, console)
	racks, capacities := make(map[string]string, len(nodes)), make(map[string]launch.Node, len(nodes))
	for _, node := range nodes {
		racks[node.Host] = node.Rack
		capacities[node.Host] = nodeCapacity(node)
	}
	return &preflightAnswer{applicationID: application.ID, queue: name, racks: racks, nodes: capacities}, nil
}

// checkHeartbeat fails if the ApplicationMaster's heartbeat interval is so long that the
// ResourceManager would consider the ApplicationMaster dead.
func (c *Cluster) checkHeartbeat(settings *config.Config) error {
	const usual = 10 * time.Minute
	expiry, err := c.hadoop.Duration("yarn.am.liveness-monitor.expiry-interval-ms", usual, time.Millisecond)
	if err != nil {
		return err
	}
	return config.CheckHeartbeat(settings, expiry)
}

// nodeCapacity returns the label and total resources of a node, including resources in use.
func nodeCapacity(node yarnrest.Node) launch.Node {
	capacity := launch.Node{
		Label:    strings.Join(node.Labels, ","),
		MemoryMB: cmp.Or(node.Total.MemoryMB, node.UsedMemoryMB+node.AvailableMemoryMB),
		VCores:   cmp.Or(node.Total.VCores, int(node.UsedVCores+node.AvailableVCores)),
	}
	for _, amount := range node.Total.Types {
		if amount.Name != "memory-mb" && amount.Name != "vcores" {
			if capacity.Others == nil {
				capacity.Others = map[string]int64{}
			}
			capacity.Others[amount.Name] = amount.Value
		}
	}
	return capacity
}

// checkLabels fails if the settings name a node label that the cluster does not have. Without this
// check, the ResourceManager would reject the executor requests, but only after the application has
// started.
func (c *Cluster) checkLabels(ctx context.Context, settings *config.Config) error {
	keys := slices.DeleteFunc([]config.Key[string]{config.AMLabel, config.ExecutorLabel}, func(key config.Key[string]) bool {
		return key.In(settings) == ""
	})
	if len(keys) == 0 {
		return nil
	}
	known, err := c.rest.NodeLabels(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		label := key.In(settings)
		switch {
		case len(known) == 0:
			return fmt.Errorf("%s=%s: the cluster has no node labels (yarn.node-labels.enabled)", key.Name(), label)
		case !slices.Contains(known, label):
			return fmt.Errorf("%s=%s: the cluster has no such node label, it has %s", key.Name(), label, strings.Join(known, ", "))
		}
	}
	return nil
}

// Hadoop's keys for the maximum number of ApplicationMaster attempts.
const (
	maxAttemptsKey       = "yarn.resourcemanager.am.max-attempts"
	globalMaxAttemptsKey = "yarn.resourcemanager.am.global.max-attempts"
)

// warnOfIneffectiveSettings prints warnings about settings that have no effect, or less effect than
// their values suggest.
func (c *Cluster) warnOfIneffectiveSettings(settings *config.Config, console *Console) {
	if keys := config.ACLsWithoutEffect(settings); len(keys) > 0 {
		console.Warn("%s let nobody in, as %s is not true", strings.Join(keys, ", "), config.ACLsEnable.Name())
	}
	// The ResourceManager uses its own value of the key, which may differ from the value on this
	// machine.
	key := globalMaxAttemptsKey
	if _, set := c.hadoop.Get(key); !set {
		key = maxAttemptsKey
	}
	if _, set := c.hadoop.Get(key); !set {
		return
	}
	most, err := c.hadoop.Int(key, 0)
	if wanted := config.MaxAttempts.In(settings); err == nil && wanted > most {
		console.Warn("%s=%d: the cluster starts an ApplicationMaster %d times at the most (%s in %s)", config.MaxAttempts.Name(), wanted, most, key, c.hadoop.Source(key))
	}
}

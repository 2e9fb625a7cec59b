package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

const (
	// platformWait limits the time of requests for the nodes' platform. In many clusters, clients
	// cannot connect to NodeManagers; then the submission continues without this check.
	platformWait = 2 * time.Second
	// platformSample is the maximum number of nodes that are asked.
	platformSample = 8
)

// checkPlatform checks whether the program is built for the nodes' platform. It does nothing if
// yarn.platform is set. It first requests the platform of the ResourceManager, to which clients can
// always connect. If the ResourceManager's platform differs from the program's, checkPlatform also
// requests the platforms of some nodes.
func (c *Cluster) checkPlatform(ctx context.Context, program *Program, settings *config.Config, console *Console) error {
	if settings.IsSet(config.Platform.Name()) {
		return nil
	}
	usual := program.Platform == config.Platform.In(settings)
	manager := c.managerPlatform(ctx)
	if manager == program.Platform || manager == "" && usual {
		return nil
	}
	hosts := c.hostsByPlatform(ctx)
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(hosts)), func(platform string) bool { return platform == program.Platform })
	switch {
	case len(hosts) == 0 && manager == "":
		return UsageErrorf("the program %s is built for %s, and the platform of the cluster's nodes is unknown: if it is the same, set yarn.platform=%s, otherwise build it for them: %s",
			program.Path, program.Platform, program.Platform, build(config.Platform.In(settings)))
	case len(hosts) == 0 && usual:
		console.Warn("the program %s is built for %s, and the ResourceManager runs on %s: if the nodes do too, the program cannot start on them; if they do not, set yarn.platform",
			program.Path, program.Platform, manager)
		return nil
	case len(hosts) == 0:
		return UsageErrorf("the program %s is built for %s, and the ResourceManager runs on %s: if the nodes are %[2]s, set yarn.platform=%[2]s, otherwise build it for them: %[4]s",
			program.Path, program.Platform, manager, build(manager))
	case len(hosts[program.Platform]) == 0:
		return UsageErrorf("the program %s is built for %s, and the cluster's nodes are %s: build it for them: %s; or set yarn.platform=%s if that is wrong",
			program.Path, program.Platform, describeNodes(hosts, others), build(others[0]), program.Platform)
	case len(others) > 0:
		console.Warn("the program %s is built for %s, and some nodes are %s: there it cannot start; keep it away from them with yarn.exclude.nodes or a node label",
			program.Path, program.Platform, describeNodes(hosts, others))
	}
	return nil
}

// clusterPlatform returns the platform of the nodes; "" if it is unknown. If the ResourceManager
// runs on the expected platform, clusterPlatform returns that platform. Otherwise it returns the
// most frequent platform in a sample of nodes. If none of these nodes answers within platformWait,
// it returns the ResourceManager's platform.
func (c *Cluster) clusterPlatform(ctx context.Context, expected string) string {
	manager := c.managerPlatform(ctx)
	if manager == expected {
		return manager
	}
	hosts := c.hostsByPlatform(ctx)
	if len(hosts) == 0 {
		return manager
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(hosts)), func(a, b string) int { return len(hosts[a]) - len(hosts[b]) })
}

func (c *Cluster) managerPlatform(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, platformWait)
	defer cancel()
	platform, err := c.rest.Platform(ctx)
	if err != nil {
		c.log.Debug("the ResourceManager does not report its platform", "error", err)
	}
	return platform
}

// hostsByPlatform requests the platforms of a sample of nodes, and returns their hosts by platform.
func (c *Cluster) hostsByPlatform(ctx context.Context) map[string][]string {
	ctx, cancel := context.WithTimeout(ctx, platformWait)
	defer cancel()
	nodes, err := c.rest.Nodes(ctx, "RUNNING")
	if err != nil {
		c.log.Debug("the nodes cannot be asked for their platform", "error", err)
		return nil
	}
	hosts := map[string][]string{}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, node := range nodes[:min(len(nodes), platformSample)] {
		asking.Go(func() {
			platform, err := c.nodePlatform(ctx, node)
			if err != nil {
				c.log.Debug("a node does not report its platform", "node", node.ID, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			hosts[platform] = append(hosts[platform], node.Host)
		})
	}
	asking.Wait()
	return hosts
}

func (c *Cluster) nodePlatform(ctx context.Context, node yarnrest.Node) (string, error) {
	manager, err := c.rest.NodeManager(node.HTTPAddress)
	if err != nil {
		return "", err
	}
	return manager.Platform(ctx)
}

// describeNodes returns a list of the platforms. Each is followed by its hosts in parentheses.
func describeNodes(hosts map[string][]string, platforms []string) string {
	var parts []string
	for _, platform := range platforms {
		parts = append(parts, fmt.Sprintf("%s (%s)", platform, strings.Join(slices.Sorted(slices.Values(hosts[platform])), ", ")))
	}
	return strings.Join(parts, " and ")
}

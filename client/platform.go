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
	// platformWait bounds the question what the nodes are: many clusters do not
	// answer it from outside, and a submission goes on without.
	platformWait = 2 * time.Second
	// platformSample is how many nodes are asked.
	platformSample = 8
)

// checkPlatform compares what a program was built for with what the cluster
// runs on, unless yarn.platform says that. The ResourceManager is asked first,
// as it can be reached; where it is of another platform, nodes are.
func (c *Cluster) checkPlatform(ctx context.Context, program *Program, settings *config.Config, console *Console) error {
	if settings.IsSet(config.Platform.Name()) {
		return nil
	}
	usual := program.Platform == config.Platform.In(settings)
	manager := c.managersPlatform(ctx)
	if manager == program.Platform || manager == "" && usual {
		return nil
	}
	told := c.askNodes(ctx)
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(told)), func(platform string) bool { return platform == program.Platform })
	switch {
	case len(told) == 0 && manager == "":
		return Usagef("the program %s is built for %s, and the cluster does not tell what its nodes are: where they are that, say so with yarn.platform=%s, otherwise build it for them: %s",
			program.Path, program.Platform, program.Platform, build(config.Platform.In(settings)))
	case len(told) == 0 && usual:
		console.Warn("the program %s is built for %s, and the ResourceManager runs on %s: if the nodes do too, it cannot start there; yarn.platform says what they are",
			program.Path, program.Platform, manager)
		return nil
	case len(told) == 0:
		return Usagef("the program %s is built for %s, and the ResourceManager runs on %s: where the nodes are %[2]s, say so with yarn.platform=%[2]s, otherwise build it for them: %[4]s",
			program.Path, program.Platform, manager, build(manager))
	case len(told[program.Platform]) == 0:
		return Usagef("the program %s is built for %s, and the cluster's nodes are %s: build it for them: %s; or set yarn.platform=%s where that is not so",
			program.Path, program.Platform, describeNodes(told, others), build(others[0]), program.Platform)
	case len(others) > 0:
		console.Warn("the program %s is built for %s, and some nodes are %s: there it cannot start; keep it away from them with yarn.exclude.nodes or a node label",
			program.Path, program.Platform, describeNodes(told, others))
	}
	return nil
}

// nodesPlatform is what the cluster runs on, "" where it does not tell: what the
// ResourceManager does where that is what is expected, and otherwise what most of
// the nodes are that are asked, which may be out of reach from here and then
// take their time.
func (c *Cluster) nodesPlatform(ctx context.Context, expected string) string {
	manager := c.managersPlatform(ctx)
	if manager == expected {
		return manager
	}
	told := c.askNodes(ctx)
	if len(told) == 0 {
		return manager
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(told)), func(a, b string) int { return len(told[a]) - len(told[b]) })
}

func (c *Cluster) managersPlatform(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, platformWait)
	defer cancel()
	platform, err := c.rest.Platform(ctx)
	if err != nil {
		c.log.Debug("the ResourceManager does not tell its platform", "error", err)
	}
	return platform
}

// askNodes asks some nodes what they are, and returns the hosts by platform.
func (c *Cluster) askNodes(ctx context.Context) map[string][]string {
	ctx, cancel := context.WithTimeout(ctx, platformWait)
	defer cancel()
	nodes, err := c.rest.Nodes(ctx, "RUNNING")
	if err != nil {
		c.log.Debug("the nodes cannot be asked for their platform", "error", err)
		return nil
	}
	told := map[string][]string{}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, node := range nodes[:min(len(nodes), platformSample)] {
		asking.Go(func() {
			platform, err := c.askNode(ctx, node)
			if err != nil {
				c.log.Debug("a node does not tell its platform", "node", node.ID, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			told[platform] = append(told[platform], node.Host)
		})
	}
	asking.Wait()
	return told
}

func (c *Cluster) askNode(ctx context.Context, node yarnrest.Node) (string, error) {
	manager, err := c.rest.NodeManager(node.HTTPAddress)
	if err != nil {
		return "", err
	}
	return manager.Platform(ctx)
}

// describeNodes names platforms, each with nodes that are of it.
func describeNodes(told map[string][]string, platforms []string) string {
	var parts []string
	for _, platform := range platforms {
		parts = append(parts, fmt.Sprintf("%s (%s)", platform, strings.Join(slices.Sorted(slices.Values(told[platform])), ", ")))
	}
	return strings.Join(parts, " and ")
}

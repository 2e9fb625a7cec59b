package yarntest

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// Cluster is a simulated YARN cluster of ResourceManagers and NodeManagers.
type Cluster struct {
	options Options
	network Network
	web     *webServer
	masters []*master
	nodes   []*Node
	hosts   map[string]*Node

	ctx   context.Context
	stop  context.CancelFunc
	loops sync.WaitGroup
	wake  chan struct{} // wakes run if an event was scheduled to occur before all others

	// mu guards the following fields, and the applications, containers and nodes.
	mu        sync.Mutex
	closed    bool
	began     time.Time
	events    eventHeap
	scheduled int64
	random    *rand.Rand

	// identifier is the start time of the active ResourceManager in Unix milliseconds. epoch is
	// the number of earlier activations of ResourceManagers.
	identifier      int64
	epoch           int64
	recovered       time.Time // after a restart: the time until which the REST API reports running applications as unknown
	lastApplication int32
	applications    []*application
	byID            map[yarn.ApplicationID]*application
	containers      map[yarn.ContainerID]*container
	queues          []*queue
	nextPreemption  *event // the next call of preemptionRound
	// demand is the number of requested containers that have not been allocated.
	demand int

	amrmKeys, nmKeys, containerKeys keys

	faults            []*Fault
	tokensToSpoil     int  // how many of the next allocated containers have invalid tokens
	ignoresBlacklists bool // see IgnoreBlacklists
	violations        []string
	watchers          map[*watcher]struct{}
}

// New starts a cluster. The caller must call Close.
func New(options Options) (*Cluster, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	now := time.Now()
	c := &Cluster{
		options: options, network: options.Network, hosts: map[string]*Node{},
		ctx: ctx, stop: cancel, wake: make(chan struct{}, 1),
		began: now, identifier: now.UnixMilli(), random: rand.New(rand.NewPCG(options.Seed, 1)),
		byID: map[yarn.ApplicationID]*application{}, containers: map[yarn.ContainerID]*container{}, watchers: map[*watcher]struct{}{},
		amrmKeys:      keys{current: 1, seed: options.Seed, kind: "amrm"},
		nmKeys:        keys{current: 1, seed: options.Seed, kind: "nm"},
		containerKeys: keys{current: 1, seed: options.Seed, kind: "container"},
	}
	for _, spec := range options.Queues {
		c.queues = append(c.queues, &queue{spec: spec})
	}
	c.web = newWebServer(c)
	if err := c.start(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// start starts the servers and the event loop, with all nodes registered.
func (c *Cluster) start() error {
	for i := range c.options.Masters {
		m, err := c.newMaster(i)
		c.masters = append(c.masters, m)
		if err != nil {
			return err
		}
		if err := m.serve(i == 0); err != nil {
			return err
		}
	}
	for i, spec := range c.options.Nodes {
		n := &Node{
			cluster: c, spec: spec, index: i, state: yarn.NodeRunning, reachable: true, local: map[yarn.ContainerID]*container{},
			// There are only 100 different phases, so that in a large cluster several nodes
			// send heartbeats at the same time.
			phase: c.options.NodeHeartbeat / 100 * time.Duration(c.random.IntN(100)),
		}
		n.registration = &registration{node: n}
		if err := n.serve(); err != nil {
			return err
		}
		c.nodes = append(c.nodes, n)
		c.hosts[spec.Host] = n
		if c.options.NodePages {
			var err error
			if n.pages, err = c.network.listen(spec.Host, 0, c.web.serveConn); err != nil {
				return err
			}
			n.httpPort = n.pages.port()
		} else {
			n.httpPort = 8042 // no server listens at this port
		}
	}
	if c.options.PreemptionInterval > 0 {
		c.nextPreemption = c.after(c.options.PreemptionInterval, c.preemptionRound)
	}
	c.loops.Go(c.run)
	return nil
}

// Close closes all servers and connections, and waits until their goroutines have ended.
func (c *Cluster) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.loops.Wait()
	for _, m := range c.masters {
		m.close()
	}
	for _, n := range c.nodes {
		n.rpc.close()
		if n.pages != nil {
			n.pages.close()
		}
		n.server.Close()
	}
	c.web.close()
}

// Dial opens a connection to an address of the cluster. It is suitable as
// yarn.ClientOptions.Dial.
func (c *Cluster) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return c.network.Dial(ctx, network, address)
}

// Nodes returns the nodes in the order of Options.Nodes.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Node returns the node with the given host name, or nil.
func (c *Cluster) Node(host string) *Node { return c.hosts[host] }

// HadoopConf returns the Hadoop configuration for clients of the cluster.
func (c *Cluster) HadoopConf() map[string]string {
	settings := map[string]string{}
	services := map[string][]string{
		"yarn.resourcemanager.address":           c.ClientAddresses(),
		"yarn.resourcemanager.scheduler.address": c.SchedulerAddresses(),
		"yarn.resourcemanager.webapp.address":    c.WebAddresses(),
	}
	if len(c.masters) == 1 {
		for key, addresses := range services {
			settings[key] = addresses[0]
		}
		return settings
	}
	settings["yarn.resourcemanager.ha.enabled"] = "true"
	ids := ""
	for i := range c.masters {
		id := "rm" + string(rune('1'+i))
		ids += "," + id
		for key, addresses := range services {
			settings[key+"."+id] = addresses[i]
		}
	}
	settings["yarn.resourcemanager.ha.rm-ids"] = ids[1:]
	return settings
}

// do locks c.mu, and calls change and then the watchers.
func (c *Cluster) do(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	c.changed()
}

func (c *Cluster) log(message string, args ...any) { c.options.Logger.Debug(message, args...) }

// sorted returns the containers, sorted by id.
func sorted(containers map[yarn.ContainerID]*container) []*container {
	return slices.SortedFunc(maps.Values(containers), func(a, b *container) int {
		x, y := a.id.Attempt, b.id.Attempt
		return cmp.Or(cmp.Compare(x.Application.ClusterTimestamp, y.Application.ClusterTimestamp),
			cmp.Compare(x.Application.Sequence, y.Application.Sequence), cmp.Compare(x.Attempt, y.Attempt), cmp.Compare(a.id.ID, b.id.ID))
	})
}

// Package cluster runs a real Hadoop cluster on this machine for tests: a NameNode, a
// ResourceManager, and nodes with a DataNode and a NodeManager. Each daemon is a JVM that
// listens on loopback only.
//
// The package needs Java, Maven (which downloads Hadoop's jars) and sh, but not root. Each
// cluster has its own ports and directory, so many clusters can run at the same time.
//
// A node's DataNode and NodeManager have the same host name, which is a loopback address such
// as 127.0.0.11. Therefore block locations in HDFS equal the names of YARN's nodes, and tasks
// can be node-local. However, a DataNode serves data at 127.0.0.1, because it registers with
// the NameNode from this address. So clients must not connect to a DataNode by its host name:
// dfs.client.use.datanode.hostname must be false, which is Hadoop's default.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/loopback"
)

var (
	// ErrNoCluster is the error of Attach if no cluster was started in the directory.
	ErrNoCluster = errors.New("no cluster here")
	// ErrRunning is the error of Start if a cluster in the directory is running.
	ErrRunning = errors.New("the cluster already runs")
)

// masterHost is the address at which the NameNode and the ResourceManager listen.
const masterHost = "127.0.0.1"

// startTimeout limits the time for starting the daemons, without downloads. Usually this takes
// a few seconds, but several clusters can start at the same time on a busy machine.
const startTimeout = 6 * time.Minute

const (
	nameNodeName        = "namenode"
	resourceManagerName = "resourcemanager"
)

func dataNodeName(index int) string    { return fmt.Sprintf("datanode-%d", index+1) }
func nodeManagerName(index int) string { return fmt.Sprintf("nodemanager-%d", index+1) }

// Cluster is a Hadoop cluster on this machine, or the cluster that External describes.
type Cluster struct {
	paths           paths
	temporary       bool // whether Start has created the directory; then Stop removes it
	logger          *slog.Logger
	kdc             *Daemon   // nil on a cluster without Kerberos
	namenode        *Daemon   // a NameNode of the default file system
	otherNameNodes  []*Daemon // the other NameNodes, with Options.HA
	resourceManager *Daemon
	nodes           []*Node

	// The following four fields are set if this process started the cluster, and nil after
	// Attach.
	ports   *loopback.Ports
	guard   *guard
	unlock  func()
	classes *classArchive // set when the cluster is ready; Stop creates the archive if it does not exist

	administrator *kerberos.Client // set by webServers
}

// Node is a host of a cluster.
type Node struct {
	// Host is the node's name in YARN and HDFS, and the NodeManager's address.
	Host string
	// Rack is the node's rack in the network topology.
	Rack string
	// DataNode and NodeManager are the daemons on the node.
	DataNode, NodeManager *Daemon
	// LocalDir is the NodeManager's directory for localized files and containers. LogDir is its
	// directory for the containers' logs.
	LocalDir, LogDir string
}

// HTTPAddress returns the address (host:port) of the NodeManager's web server.
func (n *Node) HTTPAddress() string { return n.NodeManager.Address(HTTP) }

// Start starts a cluster and waits until it is usable (see [Cluster.WaitReady]). If Start fails
// or ctx ends, Start stops the daemons that it has started. Start fails with ErrRunning if a
// cluster in the directory is running.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	temporary := options.Dir == ""
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cluster{paths: paths{options.Dir}, temporary: temporary, logger: options.Logger, ports: &loopback.Ports{}}
	if err := c.lock(); err != nil {
		return nil, err
	}
	// If anything below fails, the failure path stops the cluster in the directory. So this
	// check must be first, because a cluster that was running before must not be stopped.
	if err := c.checkNotRunning(); err != nil {
		c.unlock()
		return nil, err
	}
	if err := c.start(ctx, options); err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return nil, errors.Join(err, c.end(stop))
	}
	return c, nil
}

// start starts the cluster. The caller must call end to remove its files, daemons and guard,
// even if start fails.
func (c *Cluster) start(ctx context.Context, options Options) (err error) {
	// Remove the containers and data of an earlier cluster in the directory whose daemons were
	// killed.
	if err := errors.Join(killProcesses(ctx, c.paths.dir), c.paths.clean()); err != nil {
		return err
	}
	java, javaErr := findJava(ctx)
	hadoop, hadoopErr := findHadoop(ctx, options.HadoopVersion, options.Logger)
	if err := errors.Join(javaErr, hadoopErr); err != nil {
		return err
	}
	classes, err := newClassArchive(java, hadoop, c.paths.classes())
	if err != nil {
		return err
	}
	if options.Kerberos {
		if err := compileReplacements(ctx, java, hadoop.classPath, c.paths.replacements()); err != nil {
			return err
		}
	}
	if err := c.prepare(ctx, options, java, hadoop, classes); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no more than %s to start", startTimeout))
	defer cancel()
	if c.guard, err = startGuard(options.Dir); err != nil {
		return err
	}
	if err := c.launch(ctx); err != nil {
		return err
	}
	if options.HA {
		if err := c.Activate(ctx, c.namenode); err != nil {
			return err
		}
	}
	if err := c.WaitReady(ctx); err != nil {
		return err
	}
	if err := c.MakeDirectories(ctx); err != nil {
		return err
	}
	c.classes = classes
	if options.Detached {
		return c.detach()
	}
	return nil
}

// lock locks the cluster's directory, so that no other process starts or stops a cluster there.
// It fails if another process has locked the directory.
func (c *Cluster) lock() error {
	unlock, err := tryLock(c.paths.lock())
	if err != nil {
		return fmt.Errorf("another process is starting, running or stopping a cluster in %s: %w", c.paths.dir, err)
	}
	c.unlock = unlock
	return nil
}

// checkNotRunning returns ErrRunning if a daemon of an earlier cluster in the directory is
// running.
func (c *Cluster) checkNotRunning() error {
	earlier, err := Attach(c.paths.dir)
	if errors.Is(err, ErrNoCluster) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, daemon := range earlier.Daemons() {
		if daemon.PID() != 0 {
			return fmt.Errorf("%w in %s", ErrRunning, c.paths.dir)
		}
	}
	return nil
}

// prepare reserves the daemons' addresses and writes the configuration of daemons and clients.
func (c *Cluster) prepare(ctx context.Context, options Options, java java, hadoop hadoop, classes *classArchive) error {
	settings := properties{options: options, paths: c.paths, endpoints: map[string]map[Endpoint]string{}}
	reserve := func(daemon string, hosts map[Endpoint]string) error {
		addresses := map[Endpoint]string{}
		for endpoint, host := range hosts {
			address, err := c.ports.Reserve(host)
			if err != nil {
				return err
			}
			addresses[endpoint] = address
		}
		settings.endpoints[daemon] = addresses
		return nil
	}
	err := reserve(resourceManagerName, map[Endpoint]string{RPC: masterHost, HTTP: masterHost, Scheduler: masterHost, Tracker: masterHost, Admin: masterHost})
	for _, namenode := range options.nameNodes() {
		err = errors.Join(err, reserve(namenode.daemon, map[Endpoint]string{RPC: masterHost, HTTP: masterHost}))
	}
	for i, node := range options.Nodes {
		err = errors.Join(err,
			reserve(dataNodeName(i), map[Endpoint]string{RPC: masterHost, Admin: masterHost, HTTP: node.Host}),
			reserve(nodeManagerName(i), map[Endpoint]string{RPC: node.Host, Localizer: node.Host, HTTP: node.Host}),
		)
		if node.PrivilegedPort && err == nil {
			settings.endpoints[dataNodeName(i)][RPC], err = c.ports.ReservePrivileged(masterHost)
		}
	}
	if err != nil {
		return err
	}
	if err := c.paths.write(settings); err != nil {
		return err
	}
	s := state{HadoopVersion: options.HadoopVersion, Nodes: options.Nodes, Environ: daemonEnviron(options.Dir)}
	var secure []string // additional JVM options on a cluster with Kerberos
	if options.Kerberos {
		kdc, environ, err := c.prepareKerberos(ctx, options)
		if err != nil {
			return err
		}
		s.Daemons, s.Environ = append(s.Daemons, kdc), append(s.Environ, environ...)
		secure = []string{"-Djava.security.krb5.conf=" + filepath.Join(c.paths.kdcDir(), "krb5.conf")}
	}
	add := func(name, class string) {
		s.Daemons = append(s.Daemons, daemonState{
			Name:      name,
			Command:   daemonCommand(java, hadoop, classes, c.paths, name, class, secure),
			Endpoints: settings.endpoints[name],
		})
	}
	for _, namenode := range options.nameNodes() {
		add(namenode.daemon, "org.apache.hadoop.hdfs.server.namenode.NameNode")
	}
	add(resourceManagerName, "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager")
	for i := range options.Nodes {
		add(dataNodeName(i), "org.apache.hadoop.hdfs.server.datanode.DataNode")
		add(nodeManagerName(i), "org.apache.hadoop.yarn.server.nodemanager.NodeManager")
	}
	file := &stateFile{path: c.paths.state(), state: s}
	if err := file.write(); err != nil {
		return err
	}
	c.loadState(file)
	return nil
}

// loadState sets the cluster's daemons and nodes to those in file (cluster.json).
func (c *Cluster) loadState(file *stateFile) {
	daemons := map[string]*Daemon{}
	for _, s := range file.state.Daemons {
		daemons[s.Name] = &Daemon{
			name: s.Name, command: s.Command, logFile: c.paths.log(s.Name), endpoints: s.Endpoints,
			environ: file.state.Environ, logger: c.logger, record: file.record, current: s.Process,
		}
	}
	c.kdc = daemons[kdcName]
	c.namenode, c.resourceManager = daemons[nameNodeName], daemons[resourceManagerName]
	for _, name := range []string{secondNameNodeName, westNameNodeName} {
		if daemon := daemons[name]; daemon != nil {
			c.otherNameNodes = append(c.otherNameNodes, daemon)
		}
	}
	for i, node := range file.state.Nodes {
		c.nodes = append(c.nodes, &Node{
			Host: node.Host, Rack: node.Rack,
			DataNode: daemons[dataNodeName(i)], NodeManager: daemons[nodeManagerName(i)],
			LocalDir: c.paths.localDir(i), LogDir: c.paths.containerLogDir(i),
		})
	}
}

// Attach returns the cluster that another process has started in a directory with
// Options.Detached. It does not check that the daemons are running. It fails with ErrNoCluster
// if no cluster was started there.
func Attach(dir string) (*Cluster, error) {
	dir, err := cleanDir(dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{paths: paths{dir}, logger: slog.New(slog.DiscardHandler)}
	file, err := readState(c.paths.state())
	if err != nil {
		return nil, err
	}
	c.loadState(file)
	return c, nil
}

// launch formats the NameNodes' directories and starts all daemons. It does not wait until the
// daemons are ready.
func (c *Cluster) launch(ctx context.Context) error {
	c.logger.Info("starting the daemons", "dir", c.paths.dir, "nodes", len(c.nodes))
	for _, daemon := range c.Daemons() {
		// Remove the logs of an earlier cluster in the same directory.
		if err := os.RemoveAll(daemon.logFile); err != nil {
			return err
		}
	}
	if err := c.launchKDC(ctx); err != nil {
		return err
	}
	if err := c.resourceManager.launch(); err != nil {
		return err
	}
	if err := c.format(ctx); err != nil {
		return err
	}
	for _, daemon := range c.Daemons() {
		if daemon == c.kdc || daemon == c.resourceManager {
			continue
		}
		if err := daemon.launch(); err != nil {
			return err
		}
	}
	return nil
}

// format creates the empty file system of each NameNode.
func (c *Cluster) format(ctx context.Context) error {
	formatting, ctx := errgroup.WithContext(ctx)
	for _, namenode := range c.NameNodes() {
		if namenode.name != secondNameNodeName {
			formatting.Go(func() error { return namenode.format(ctx) })
		}
	}
	if err := formatting.Wait(); err != nil || len(c.otherNameNodes) == 0 {
		return err
	}
	// The standby NameNode starts with a copy of the active NameNode's file system.
	return os.CopyFS(c.paths.nameDir(secondNameNodeName), os.DirFS(c.paths.nameDir(nameNodeName)))
}

// format creates an empty file system for d, which is a NameNode.
func (d *Daemon) format(ctx context.Context) error {
	// All NameNodes get the same cluster id, because a DataNode that serves several
	// nameservices requires this.
	arguments := append(d.command[1:len(d.command):len(d.command)], "-format", "-clusterid", "bobbin", "-nonInteractive", "-force")
	cmd := exec.CommandContext(ctx, d.command[0], arguments...)
	cmd.Env = d.environ
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("formatting the directory of %s: %w\n%s", d.name, err, lastLines(output, 25))
	}
	return nil
}

// detach releases the cluster's guard, ports and lock, so that the daemons continue to run when
// this process ends.
func (c *Cluster) detach() error {
	if err := c.guard.release(); err != nil {
		return err
	}
	c.guard = nil
	if err := c.ports.Release(); err != nil {
		return err
	}
	c.unlock()
	c.unlock = nil
	return nil
}

// ConfDir returns the directory of the clients' configuration, to be set as HADOOP_CONF_DIR.
func (c *Cluster) ConfDir() string { return c.paths.client() }

// NameNode returns the NameNode. With Options.HA, it returns the first NameNode of East.
func (c *Cluster) NameNode() *Daemon { return c.namenode }

// NameNodes returns all NameNodes. With Options.HA, these are the two of East and then the one
// of West.
func (c *Cluster) NameNodes() []*Daemon { return append([]*Daemon{c.namenode}, c.otherNameNodes...) }

// ResourceManager returns the ResourceManager.
func (c *Cluster) ResourceManager() *Daemon { return c.resourceManager }

// Nodes returns the nodes in the order of Options.Nodes.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Daemons returns all daemons of the cluster.
func (c *Cluster) Daemons() []*Daemon {
	if c.namenode == nil {
		return nil // start failed before it created daemons
	}
	daemons := append(c.NameNodes(), c.resourceManager)
	if c.kdc != nil {
		daemons = append([]*Daemon{c.kdc}, daemons...)
	}
	for _, node := range c.nodes {
		daemons = append(daemons, node.DataNode, node.NodeManager)
	}
	return daemons
}

// Stop stops all daemons and containers, and removes the cluster's data. It kills NodeManagers
// that have not ended after three seconds, other daemons that have not ended after ten seconds,
// and all daemons when ctx ends. If no archive of classes exists on this machine, Stop creates
// one for later clusters.
func (c *Cluster) Stop(ctx context.Context) error {
	if c.unlock == nil {
		if err := c.lock(); err != nil {
			return err
		}
	}
	return c.end(ctx)
}

// nodeManagerGrace is the time between SIGTERM and SIGKILL for a NodeManager when the cluster
// stops. It is short: after an application, a NodeManager spends several seconds only on
// removing files, which Stop removes anyway.
const nodeManagerGrace = 3 * time.Second

// end stops the daemons, removes all parts of the cluster, and unlocks the directory. The
// caller must have locked the directory.
func (c *Cluster) end(ctx context.Context) error {
	// Stop the nodes first, because a stopping NodeManager still calls the ResourceManager.
	nodes, masters := &errgroup.Group{}, &errgroup.Group{}
	leaving, hurry := context.WithTimeout(ctx, nodeManagerGrace)
	defer hurry()
	for _, node := range c.nodes {
		nodes.Go(func() error { return node.NodeManager.Stop(leaving) })
		nodes.Go(func() error { return node.DataNode.Stop(ctx) })
	}
	errs := []error{nodes.Wait()}
	if c.namenode != nil {
		for _, namenode := range c.NameNodes() {
			masters.Go(func() error { return namenode.Stop(ctx) })
		}
		masters.Go(func() error { return c.resourceManager.Stop(ctx) })
	}
	errs = append(errs, masters.Wait())
	if c.kdc != nil {
		errs = append(errs, c.kdc.Stop(ctx))
	}
	archiving, cancelArchiving := context.WithTimeout(context.WithoutCancel(ctx), archiveTimeout)
	defer cancelArchiving()
	if err := c.classes.create(archiving); err != nil {
		c.logger.Warn("clusters start without an archive of classes", "error", err)
	}
	killing, cancel := context.WithTimeout(context.WithoutCancel(ctx), killWait)
	defer cancel()
	errs = append(errs, killProcesses(killing, c.paths.dir), c.paths.clean())
	if c.guard != nil {
		errs = append(errs, c.guard.release())
		c.guard = nil
	}
	if c.ports != nil {
		errs = append(errs, c.ports.Release())
	}
	if c.administrator != nil {
		c.administrator.Close()
		c.administrator = nil
	}
	c.unlock()
	c.unlock = nil
	if c.temporary {
		errs = append(errs, os.RemoveAll(c.paths.dir))
	}
	return errors.Join(errs...)
}

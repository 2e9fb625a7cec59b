// Package containers runs the Hadoop cluster of docker/ for tests. Each host is a Docker
// container with its own name, address and disk, on a network of the cluster. Tests can kill,
// pause and disconnect hosts, and change their clocks.
//
// The package needs the image that make docker-image builds. RunInside runs tests on a host in
// the cluster's network, so that the tests, the programs that they start, and the cluster's
// hosts can connect to each other by name. RunInside needs Linux, root, and the commands
// nsenter, unshare and mount.
package containers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/docker/docker/client"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// DefaultImage is the name of the image that make docker-image builds.
const DefaultImage = "bobbin-hadoop"

const (
	startTimeout = 8 * time.Minute // half a minute on an idle machine
	stopTimeout  = time.Minute
)

// Names of the hosts.
const (
	NameNode              = "namenode"
	ResourceManager       = "resourcemanager"
	SecondResourceManager = "resourcemanager-2" // with Options.HA
	ZooKeeper             = "zookeeper"         // with Options.HA
	Client                = "client"            // host in whose network RunInside runs the tests
	KDC                   = "kdc"               // with Options.Kerberos
)

// Options describes a cluster. The zero value describes the cluster of docker/compose.yaml:
// three workers in two racks, and one ResourceManager.
type Options struct {
	// Image is the name of the Hadoop image. Default: DefaultImage.
	Image string
	// HA starts two ResourceManagers, and a ZooKeeper for their state and leader election.
	HA bool
	// Kerberos makes the cluster secure and starts a KDC. Its users are those
	// of integration/cluster, such as cluster.Alice. This machine must have a JDK and Debian's packages krb5-kdc, krb5-admin-server
	// and krb5-user. Kerberos and HA must not both be set.
	Kerberos bool
	// Disks contains the sizes, in bytes, of in-memory disks for the files of YARN containers,
	// by worker name. The files of other workers are on this machine's disk.
	Disks map[string]int64
	// Properties override the properties in docker/conf, for daemons and clients.
	Properties map[string]string
	// Logger logs the progress of starting and stopping. Default: no logging.
	Logger *slog.Logger
}

// Workers returns the names of the hosts that run a DataNode and a NodeManager.
func Workers() []string { return []string{"worker-1", "worker-2", "worker-3"} }

// Cluster is a Hadoop cluster in Docker containers.
type Cluster struct {
	docker *client.Client
	state  state
	hosts  map[string]*Host
	logger *slog.Logger
}

// state describes a cluster for another process. It is stored in the file cluster.json.
type state struct {
	Dir       string            `json:"dir"` // the cluster's directory on this machine
	Network   string            `json:"network"`
	HA        bool              `json:"ha"`
	Kerberos  bool              `json:"kerberos"`
	Hosts     map[string]string `json:"hosts"`     // Docker container id by host name
	Addresses map[string]string `json:"addresses"` // IP address by host name
}

// Start starts a cluster and waits until it is usable. If Start fails or ctx ends first, it
// removes everything that it has created. Start also removes the containers and networks that
// killed processes have left on this machine.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Image == "" {
		options.Image = DefaultImage
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	engine, err := connect(ctx, options.Image)
	if err != nil {
		return nil, err
	}
	c := &Cluster{docker: engine, hosts: map[string]*Host{}, logger: options.Logger, state: state{
		HA: options.HA, Kerberos: options.Kerberos, Hosts: map[string]string{}, Addresses: map[string]string{},
	}}
	starting, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no more than %s to start", startTimeout))
	defer cancel()
	if err := c.start(starting, options); err != nil {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, c.Stop(stopping))
	}
	return c, nil
}

// connect returns a client of the Docker engine. It fails if the engine does not have the
// image.
func connect(ctx context.Context, image string) (*client.Client, error) {
	engine, err := newClient()
	if err != nil {
		return nil, err
	}
	if _, err := engine.ImageInspect(ctx, image); err != nil {
		if client.IsErrConnectionFailed(err) {
			err = fmt.Errorf("no Docker engine answers: %w: start dockerd, name another engine in DOCKER_HOST, or run this command by docker/with-engine", err)
		} else {
			err = fmt.Errorf("the Hadoop image %s: %w: make it with: make docker-image", image, err)
		}
		return nil, errors.Join(err, engine.Close())
	}
	return engine, nil
}

func newClient() (*client.Client, error) {
	engine, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	return engine, nil
}

// start starts the cluster. The caller must call Stop to remove what start has created, even if
// start fails.
func (c *Cluster) start(ctx context.Context, options Options) error {
	if err := c.removeAbandoned(ctx); err != nil {
		return err
	}
	// Disable the reaper container of testcontainers, whose image may be missing.
	// removeAbandoned replaces it.
	if err := os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true"); err != nil {
		return err
	}
	var err error
	if c.state.Dir, err = os.MkdirTemp("", "bobbin-containers-"); err != nil {
		return err
	}
	specs, clients, first := hostSpecs(options), properties(options), 0
	if options.Kerberos {
		first = 1 // start the KDC first, because other hosts log in when they start
		if specs, clients, err = c.withKerberos(ctx, specs, clients); err != nil {
			return err
		}
	}
	subnet, err := c.createNetwork(ctx)
	if err != nil {
		return err
	}
	for i, spec := range specs {
		c.state.Addresses[spec.name] = subnet.host(i)
	}
	if err := errors.Join(c.writeHosts(), writeConf(c.ConfDir(), clients)); err != nil {
		return err
	}
	for _, part := range [][]hostSpec{specs[:first], specs[first:]} {
		if err := c.startHosts(ctx, options.Image, part); err != nil {
			return err
		}
	}
	c.loadState()
	c.logger.Info("containers started", "hosts", len(specs), "network", c.state.Network)
	if err := c.WaitReady(ctx); err != nil {
		return err
	}
	return c.writeState()
}

// loadState creates the hosts that c.state describes.
func (c *Cluster) loadState() {
	for name, id := range c.state.Hosts {
		c.hosts[name] = &Host{docker: c.docker, id: id, Name: name, Address: c.state.Addresses[name]}
	}
}

func (c *Cluster) stateFile() string { return filepath.Join(c.state.Dir, "cluster.json") }

func (c *Cluster) writeState() error {
	content, err := json.MarshalIndent(c.state, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.stateFile(), content, 0o600)
}

// attach returns the cluster that another process has started. path is the file with its state.
func attach(path string) (*Cluster, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &Cluster{hosts: map[string]*Host{}, logger: slog.New(slog.DiscardHandler)}
	if err := json.Unmarshal(content, &c.state); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if c.docker, err = newClient(); err != nil {
		return nil, err
	}
	c.loadState()
	return c, nil
}

// Host returns the host with the given name, or nil if the cluster has no such host.
func (c *Cluster) Host(name string) *Host { return c.hosts[name] }

// ConfDir returns the directory of the clients' configuration, to be set as HADOOP_CONF_DIR.
func (c *Cluster) ConfDir() string { return filepath.Join(c.state.Dir, "client") }

func (c *Cluster) resourceManagers() []string {
	if c.state.HA {
		return []string{ResourceManager, SecondResourceManager}
	}
	return []string{ResourceManager}
}

// WaitReady waits until a ResourceManager is active and every worker's DataNode and NodeManager
// have sent a heartbeat since the worker's last start. If ctx ends first, the error says what
// was missing. If a host is not running, WaitReady returns an error with the end of the host's
// log.
func (c *Cluster) WaitReady(ctx context.Context) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	var missing error
	for {
		now := c.checkReady(ctx)
		if now == nil {
			return nil
		}
		if ctx.Err() == nil || missing == nil {
			missing = now // not later, because errors after the end of ctx do not say what is missing
		}
		if err := c.checkRunning(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("the cluster is not ready: %w: %w", missing, context.Cause(ctx))
		}
	}
}

func (c *Cluster) checkReady(ctx context.Context) error {
	started := map[string]time.Time{}
	for _, name := range Workers() {
		var err error
		if started[name], err = c.hosts[name].started(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range c.resourceManagers() {
		// A standby ResourceManager redirects requests to the active one by a host name that
		// this machine cannot resolve. So send the requests to each ResourceManager's own
		// address; one must be ready.
		asking, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := cluster.CheckReady(asking, c.state.Addresses[NameNode]+":9870", c.state.Addresses[name]+":8088", len(Workers()), started)
		cancel()
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (c *Cluster) checkRunning(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(c.hosts)) {
		running, err := c.hosts[name].Running(ctx)
		if err != nil {
			return err
		}
		if !running {
			return fmt.Errorf("%s has ended; its log ends with\n%s", name, c.hosts[name].logTail(ctx, 25))
		}
	}
	return nil
}

// Active returns the host of the active ResourceManager, or nil if none is active.
func (c *Cluster) Active(ctx context.Context) *Host {
	for _, name := range c.resourceManagers() {
		if state, err := haState(ctx, c.state.Addresses[name]+":8088"); err == nil && state == "ACTIVE" {
			return c.hosts[name]
		}
	}
	return nil
}

// Stop removes all containers, the network and the cluster's files on this machine.
func (c *Cluster) Stop(ctx context.Context) error {
	err := c.remove(ctx, c.state.Network)
	if c.state.Dir != "" {
		err = errors.Join(err, os.RemoveAll(c.state.Dir))
	}
	return errors.Join(err, c.docker.Close())
}

// Logs returns the output of the daemons on each host, by host name. If a host's output cannot
// be read, the text for the host is that of the error.
func (c *Cluster) Logs(ctx context.Context) map[string]string {
	all := map[string]string{}
	for name, host := range c.hosts {
		text, err := host.Log(ctx)
		if err != nil {
			text = err.Error()
		}
		all[name] = text
	}
	return all
}

// Heal starts, unpauses and reconnects every host, resets the hosts' clocks and properties, and
// waits until the cluster is ready.
func (c *Cluster) Heal(ctx context.Context) error {
	healing, healingCtx := errgroup.WithContext(ctx)
	for _, host := range c.hosts {
		healing.Go(func() error { return host.heal(healingCtx) })
	}
	if err := healing.Wait(); err != nil {
		return err
	}
	return c.WaitReady(ctx)
}

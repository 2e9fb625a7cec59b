package containers

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/docker"
)

// hostSpec describes a host to create.
type hostSpec struct {
	name    string
	command []string
	disk    int64 // size in bytes of an in-memory disk for YARN's files; 0 means this machine's disk

	files       []string          // files of this machine that are mounted in the host, as SOURCE:TARGET[:ro]
	environment map[string]string // environment variables of the daemons
	started     wait.Strategy     // strategy for waiting until the host is usable; nil means not to wait
}

// hostSpecs returns the hosts to create for options.
func hostSpecs(options Options) []hostSpec {
	properties := properties(options)
	daemon := func(id string, daemons ...string) []string {
		var command []string
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			command = append(command, "-D", name+"="+properties[name])
		}
		if id != "" {
			command = append(command, "-D", "yarn.resourcemanager.ha.id="+id)
		}
		return append(command, daemons...)
	}
	specs := []hostSpec{{name: Client, command: daemon("", "idle")}, {name: NameNode, command: daemon("", "namenode")}}
	if options.HA {
		specs = append(specs,
			hostSpec{name: ZooKeeper, command: []string{"zookeeper"}},
			hostSpec{name: ResourceManager, command: daemon("rm1", "resourcemanager")},
			hostSpec{name: SecondResourceManager, command: daemon("rm2", "resourcemanager")},
		)
	} else {
		specs = append(specs, hostSpec{name: ResourceManager, command: daemon("", "resourcemanager")})
	}
	for _, name := range Workers() {
		specs = append(specs, hostSpec{name: name, command: daemon("", "datanode", "nodemanager"), disk: options.Disks[name]})
	}
	return specs
}

// properties returns the properties that override those in docker/conf.
func properties(options Options) map[string]string {
	all := map[string]string{}
	if options.HA {
		maps.Copy(all, map[string]string{
			"yarn.resourcemanager.ha.enabled":       "true",
			"yarn.resourcemanager.cluster-id":       "bobbin",
			"yarn.resourcemanager.ha.rm-ids":        "rm1,rm2",
			"yarn.resourcemanager.hostname.rm1":     ResourceManager,
			"yarn.resourcemanager.hostname.rm2":     SecondResourceManager,
			"yarn.resourcemanager.recovery.enabled": "true",
			"yarn.resourcemanager.store.class":      "org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore",
			"hadoop.zk.address":                     ZooKeeper + ":2181",
			// ZooKeeper expires a ResourceManager's session after this time without a
			// heartbeat.
			"yarn.resourcemanager.zk-timeout-ms":                               "5000",
			"yarn.resourcemanager.ha.automatic-failover.zk-timeout-ms":         "5000",
			"yarn.client.failover-sleep-base-ms":                               "200",
			"yarn.client.failover-sleep-max-ms":                                "1000",
			"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "1000",
		})
	}
	maps.Copy(all, options.Properties)
	return all
}

// startHosts starts the containers of all hosts concurrently.
func (c *Cluster) startHosts(ctx context.Context, image string, specs []hostSpec) error {
	containers := make([]testcontainers.Container, len(specs))
	starts, ctx := errgroup.WithContext(ctx)
	for i, spec := range specs {
		starts.Go(func() (err error) {
			containers[i], err = c.startHost(ctx, image, spec)
			return err
		})
	}
	err := starts.Wait()
	for i, spec := range specs {
		if containers[i] != nil {
			c.state.Hosts[spec.name] = containers[i].GetContainerID()
		}
	}
	return err
}

func (c *Cluster) startHost(ctx context.Context, image string, spec hostSpec) (testcontainers.Container, error) {
	request := testcontainers.ContainerRequest{
		Image: image, Cmd: spec.command, Labels: c.labels(), Networks: []string{c.state.Network},
		Env: spec.environment, WaitingFor: spec.started,
		ConfigModifier: func(config *container.Config) { config.Hostname = spec.name },
		HostConfigModifier: func(config *container.HostConfig) {
			// These lines are added to /etc/hosts. With them, a host's name can be resolved
			// even if the host is not running, as with a name server.
			config.ExtraHosts = c.hostLines(":")
			config.Binds = spec.files
			if spec.disk > 0 {
				config.Tmpfs = map[string]string{"/hadoop/local": fmt.Sprintf("rw,exec,size=%d", spec.disk)}
			}
		},
		EndpointSettingsModifier: func(settings map[string]*network.EndpointSettings) {
			for _, endpoint := range settings {
				endpoint.IPAMConfig = &network.EndpointIPAMConfig{IPv4Address: c.state.Addresses[spec.name]}
			}
		},
	}
	started, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: request, Started: true, Logger: discardLogger{},
	})
	if err != nil {
		return started, fmt.Errorf("starting %s: %w", spec.name, err)
	}
	return started, nil
}

// discardLogger discards the progress messages of testcontainers.
type discardLogger struct{}

func (discardLogger) Printf(string, ...any) {}

// hostLines returns a line for each host: its name, the separator, and its IP address.
func (c *Cluster) hostLines(separator string) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(c.state.Addresses)) {
		lines = append(lines, name+separator+c.state.Addresses[name])
	}
	return lines
}

// siteFiles are the files of docker/conf to which properties are added.
var siteFiles = []string{"core-site.xml", "hdfs-site.xml", "yarn-site.xml"}

// writeConf writes docker/conf to the directory dir, and adds the properties to each of
// siteFiles.
func writeConf(dir string, properties map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var added strings.Builder
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		fmt.Fprintf(&added, "<property><name>%s</name><value>%s</value></property>\n", name, properties[name])
	}
	for _, file := range siteFiles {
		content, err := docker.Conf.ReadFile("conf/" + file)
		if err != nil {
			return err
		}
		text := strings.Replace(string(content), "</configuration>", added.String()+"</configuration>", 1)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeHosts writes the file that becomes /etc/hosts of the tests (see RunInside).
func (c *Cluster) writeHosts() error {
	var hosts strings.Builder
	hosts.WriteString("127.0.0.1 localhost\n")
	for name, address := range c.state.Addresses {
		hosts.WriteString(address + " " + name + "\n")
	}
	return os.WriteFile(c.hostsFile(), []byte(hosts.String()), 0o644)
}

func (c *Cluster) hostsFile() string { return filepath.Join(c.state.Dir, "hosts") }

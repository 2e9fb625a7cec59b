package cluster

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Options describe a cluster, by default two nodes in two racks.
type Options struct {
	// Dir is the directory for configuration, data and logs. Default: a new one below
	// os.TempDir, which Stop removes. If Dir is set, Stop keeps the logs.
	Dir string
	// HadoopVersion is a release, such as "3.3.6". Default: DefaultHadoopVersion.
	HadoopVersion string
	// Nodes are hosts with a DataNode and a NodeManager. Default: DefaultNodes.
	Nodes []NodeSpec
	// Core, HDFS and YARN override properties in core-site.xml, hdfs-site.xml and
	// yarn-site.xml, for daemons and clients.
	Core, HDFS, YARN Properties
	// CapacityScheduler overrides properties in capacity-scheduler.xml.
	CapacityScheduler Properties
	// ShuffleService makes NodeManagers run MapReduce's shuffle service. Each service listens
	// on a different port, because all NodeManagers are on one machine.
	ShuffleService bool
	// FairScheduler selects YARN's FairScheduler instead of the CapacityScheduler, with the
	// same queues.
	FairScheduler bool
	// HA gives HDFS two nameservices: East, the default file system, with two NameNodes, of
	// which the first is active, and West with one.
	HA bool
	// Kerberos makes the cluster secure: a KDC, Kerberos for all daemons and clients,
	// and access control lists. Its users are Alice, Bob and Gateway.
	Kerberos bool
	// Encryption is the type of all keys of a cluster with Kerberos, such as
	// "aes256-cts-hmac-sha384-192". Default: AES with SHA-1.
	Encryption string
	// SPNEGO makes the web servers of a cluster with Kerberos ask for it. Without, they
	// answer any reader, and the ResourceManager takes no submissions by REST.
	SPNEGO bool
	// HTTPS makes all web servers use HTTPS. Their certificate is in the truststore that the
	// clients' ssl-client.xml names.
	HTTPS bool
	// Detached makes the daemons outlive this process, for Attach. Otherwise they end
	// with this process, even if it is killed.
	Detached bool
	// Logger receives the progress of starting and stopping. Default: none.
	Logger *slog.Logger
}

// NodeSpec is one host of a cluster.
type NodeSpec struct {
	// Host is the node's host name. It is an IPv4 loopback address, because this is the only
	// way to give each node a different host without being root. It should not be 127.0.0.2,
	// which some systems resolve to the machine's name.
	Host string
	// Rack is the node's place in the network topology, such as "/rack-a".
	Rack string
	// MemoryMB is the memory for containers, in MiB. Default: 8192.
	MemoryMB int
	// VCores is the number of virtual cores for containers. Default: 8.
	VCores int
	// HDFS overrides properties in the DataNode's hdfs-site.xml.
	HDFS Properties
	// PrivilegedPort makes the DataNode transfer data at a port below 1024. Then only root can
	// start it.
	PrivilegedPort bool
}

// DefaultNodes returns the two nodes of the usual cluster.
func DefaultNodes() []NodeSpec {
	return []NodeSpec{
		{Host: "127.0.0.11", Rack: "/rack-a"},
		{Host: "127.0.0.12", Rack: "/rack-b"},
	}
}

// withDefaults checks the options, adds defaults, and creates the directory.
func (o Options) withDefaults() (Options, error) {
	if o.HadoopVersion == "" {
		o.HadoopVersion = DefaultHadoopVersion
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	nodes := o.Nodes
	if nodes == nil {
		nodes = DefaultNodes()
	}
	if len(nodes) == 0 {
		return o, fmt.Errorf("a cluster needs at least one node")
	}
	o.Nodes = nil
	seen := map[string]bool{}
	for _, node := range nodes {
		if ip := net.ParseIP(node.Host); ip == nil || ip.To4() == nil || !ip.IsLoopback() {
			return o, fmt.Errorf("node host %q must be an IPv4 loopback address, as 127.0.0.11", node.Host)
		}
		if seen[node.Host] {
			return o, fmt.Errorf("two nodes have the host %s", node.Host)
		}
		seen[node.Host] = true
		if !strings.HasPrefix(node.Rack, "/") || len(node.Rack) < 2 {
			return o, fmt.Errorf("rack %q of node %s must look like /rack-a", node.Rack, node.Host)
		}
		if node.MemoryMB == 0 {
			node.MemoryMB = 8192
		}
		if node.VCores == 0 {
			node.VCores = 8
		}
		o.Nodes = append(o.Nodes, node)
	}
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "bobbin-cluster-")
		if err != nil {
			return o, err
		}
		o.Dir = dir
	}
	dir, err := cleanDir(o.Dir)
	if err != nil {
		return o, err
	}
	o.Dir = dir
	return o, os.MkdirAll(dir, 0o755)
}

// cleanDir returns a directory's absolute path. It rejects characters that Hadoop's
// configuration or Java's class path would interpret.
func cleanDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if bad := strings.IndexAny(dir, " \t\n,:;%$&<>'\"\\*?#"); bad >= 0 {
		return "", fmt.Errorf("cluster directory %q has the character %q, which Hadoop cannot have in a path: choose another", dir, dir[bad])
	}
	return dir, nil
}

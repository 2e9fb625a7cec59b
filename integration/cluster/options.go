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

// Options describes a cluster. The zero value describes a cluster with two nodes in two racks.
type Options struct {
	// Dir is the directory for configuration, data and logs. Default: a new directory below
	// os.TempDir, which Stop removes. If Dir is set, Stop does not remove the logs.
	Dir string
	// HadoopVersion is a Hadoop release, such as "3.3.6". Default: DefaultHadoopVersion.
	HadoopVersion string
	// Nodes are hosts with a DataNode and a NodeManager. Default: DefaultNodes.
	Nodes []NodeSpec
	// Core, HDFS and YARN override properties in core-site.xml, hdfs-site.xml and
	// yarn-site.xml, for daemons and clients.
	Core, HDFS, YARN Properties
	// CapacityScheduler overrides properties in capacity-scheduler.xml.
	CapacityScheduler Properties
	// ShuffleService enables MapReduce's shuffle service in the NodeManagers. Each service
	// listens on a different port, because all NodeManagers are on one machine.
	ShuffleService bool
	// FairScheduler selects YARN's FairScheduler instead of the CapacityScheduler. The queues
	// are the same.
	FairScheduler bool
	// HA configures two nameservices in HDFS. East is the default file system and has two
	// NameNodes, of which the first is active after Start. West has one NameNode.
	HA bool
	// Kerberos makes the cluster secure: it has a KDC, Kerberos authentication of all daemons
	// and clients, and access control lists. The users are Alice, Bob and Gateway.
	Kerberos bool
	// Encryption is the encryption type of all keys on a cluster with Kerberos, such as
	// "aes256-cts-hmac-sha384-192". Default: AES with SHA-1.
	Encryption string
	// SPNEGO makes web servers on a cluster with Kerberos require authentication. Without
	// SPNEGO, they answer everybody's GET requests, and the ResourceManager accepts no
	// submissions by REST.
	SPNEGO bool
	// HTTPS makes all web servers use HTTPS. The clients' ssl-client.xml contains the path of a
	// truststore with the servers' certificate.
	HTTPS bool
	// Detached makes the daemons continue to run when this process ends, for Attach. Otherwise
	// they are stopped when this process ends, even if it is killed.
	Detached bool
	// Logger logs the progress of starting and stopping. Default: no logging.
	Logger *slog.Logger
}

// NodeSpec describes one host of a cluster.
type NodeSpec struct {
	// Host is the node's host name. It must be an IPv4 loopback address: without root, only
	// loopback addresses can give each node a different host. It should not be 127.0.0.2, which
	// some systems resolve to the machine's name.
	Host string
	// Rack is the node's rack in the network topology, such as "/rack-a".
	Rack string
	// MemoryMB is the memory that YARN can allocate on the node, in MiB. Default: 8192.
	MemoryMB int
	// VCores is the number of virtual cores that YARN can allocate on the node. Default: 8.
	VCores int
	// HDFS overrides properties in the DataNode's hdfs-site.xml.
	HDFS Properties
	// PrivilegedPort makes the DataNode serve data at a port below 1024. Only root can start
	// such a DataNode.
	PrivilegedPort bool
}

// DefaultNodes returns the two nodes of a cluster whose Options.Nodes is nil.
func DefaultNodes() []NodeSpec {
	return []NodeSpec{
		{Host: "127.0.0.11", Rack: "/rack-a"},
		{Host: "127.0.0.12", Rack: "/rack-b"},
	}
}

// withDefaults validates the options, sets defaults, and creates the directory.
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

// cleanDir returns the absolute path of a directory. It rejects a path with a character that
// has a special meaning in Hadoop's configuration or in Java's class path.
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

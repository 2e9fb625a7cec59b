package containers

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// Racks returns the workers' racks by worker name, as in docker/conf/topology.table.
func Racks() map[string]string {
	return map[string]string{"worker-1": "/rack-a", "worker-2": "/rack-a", "worker-3": "/rack-b"}
}

// HadoopCluster returns c as a cluster.Cluster, for tests that also run on a cluster without
// Docker. A node's directories are paths through /proc/PID/root of the init process on the
// node's host. They are valid until the host restarts.
func (c *Cluster) HadoopCluster(ctx context.Context) (*cluster.Cluster, error) {
	var nodes []*cluster.Node
	racks := Racks()
	for _, name := range Workers() {
		pid, err := c.Host(name).pid(ctx)
		if err != nil {
			return nil, err
		}
		root := fmt.Sprintf("/proc/%d/root", pid)
		nodes = append(nodes, &cluster.Node{
			Host: name, Rack: racks[name], LocalDir: root + "/hadoop/local", LogDir: root + "/hadoop/logs",
			DataNode:    cluster.ExternalDaemon("datanode on "+name, map[cluster.Endpoint]string{cluster.RPC: name + ":9866"}),
			NodeManager: cluster.ExternalDaemon("nodemanager on "+name, map[cluster.Endpoint]string{cluster.RPC: name + ":8041", cluster.HTTP: name + ":8042"}),
		})
	}
	var kdc *cluster.Daemon
	if c.state.Kerberos {
		kdc = cluster.ExternalDaemon(KDC, map[cluster.Endpoint]string{cluster.RPC: kdcAddress})
	}
	return cluster.External(c.state.Dir, kdc,
		cluster.ExternalDaemon(NameNode, map[cluster.Endpoint]string{cluster.RPC: NameNode + ":8020", cluster.HTTP: NameNode + ":9870"}),
		cluster.ExternalDaemon(ResourceManager, map[cluster.Endpoint]string{
			cluster.RPC: ResourceManager + ":8032", cluster.HTTP: ResourceManager + ":8088", cluster.Scheduler: ResourceManager + ":8030",
			cluster.Tracker: ResourceManager + ":8031", cluster.Admin: ResourceManager + ":8033",
		}), nodes...), nil
}

package cluster

import (
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
)

// site is the configuration of a daemon or of a client: a field for each file.
type site struct {
	core, hdfs, yarn  Properties
	capacityScheduler Properties // only the ResourceManager's
	sslClient         Properties // nil without HTTPS
	sslServer         Properties // only of daemons; nil without HTTPS
	mapred            Properties // mapred-site.xml of NodeManagers with the shuffle service
}

// properties computes the configuration of the cluster's daemons and clients.
type properties struct {
	options   Options
	paths     paths
	endpoints map[string]map[Endpoint]string // addresses by daemon
}

// client returns the configuration of clients.
func (p properties) client() site {
	rm := p.endpoints[resourceManagerName]
	secure, services, https := p.kerberos(), p.nameservices(), p.https()
	return site{
		core: services.core.with(secure.core, p.options.Core),
		hdfs: Properties{
			"dfs.replication": "1",
			// Blocks are small, so that a test's file spreads over the nodes.
			"dfs.blocksize": strconv.Itoa(8 << 20),
		}.with(services.hdfs, secure.hdfs, https.hdfs, p.options.HDFS),
		yarn: Properties{
			"yarn.resourcemanager.hostname":                 masterHost,
			"yarn.resourcemanager.address":                  rm[RPC],
			"yarn.resourcemanager.scheduler.address":        rm[Scheduler],
			"yarn.resourcemanager.resource-tracker.address": rm[Tracker],
			"yarn.resourcemanager.admin.address":            rm[Admin],
			p.webKey("yarn.resourcemanager.webapp.address"): rm[HTTP],
			"yarn.resourcemanager.am.max-attempts":          "4",
			"yarn.scheduler.minimum-allocation-mb":          "128",
			"yarn.scheduler.maximum-allocation-mb":          "4096",
			"yarn.scheduler.maximum-allocation-vcores":      "4",
		}.with(secure.yarn, https.yarn, p.options.YARN),
		sslClient: https.sslClient,
	}
}

// daemon returns the configuration that all daemons share.
func (p properties) daemon() site {
	s := p.client()
	s.sslServer = p.https().sslServer
	secure := p.kerberosDaemon()
	s.core = Properties{
		"hadoop.tmp.dir": p.paths.tmp(),
		// This is TableMapping without its cache. With the cache, the NameNode would look up
		// a DataNode's rack by the address from which the DataNode connects, which is
		// 127.0.0.1 for all DataNodes. The ResourceManager has its own cache.
		"net.topology.node.switch.mapping.impl": "org.apache.hadoop.net.TableMapping$RawTableMapping",
		"net.topology.table.file.name":          p.paths.topology(),
		// Daemons start at the same time and wait for one another.
		"ipc.client.connect.retry.interval": "200",
		"ipc.client.connect.max.retries":    "150",
		// By default, this file is in the home directory.
		"hadoop.http.authentication.signature.secret.file": p.paths.httpSecret(),
	}.with(secure.core, s.core)
	s.hdfs = Properties{
		"dfs.namenode.datanode.registration.ip-hostname-check": "false",
		"dfs.namenode.fs-limits.min-block-size":                "1024",
		"dfs.namenode.safemode.extension":                      "0",
		// The data need not survive a power failure, and no disk space must be kept free.
		"dfs.namenode.edits.noeditlogchannelflush": "true",
		"dfs.namenode.resource.du.reserved":        "0",
		"dfs.datanode.du.reserved":                 "0",
	}.with(secure.hdfs, s.hdfs)
	s.yarn = Properties{
		"yarn.resourcemanager.connect.retry-interval.ms": "300",
		"yarn.resourcemanager.scheduler.class":           p.scheduler(),
		// By default, the FairScheduler makes a queue for each user, and gives memory in
		// whole gigabytes.
		"yarn.scheduler.fair.user-as-default-queue": "false",
		"yarn.scheduler.increment-allocation-mb":    "128",
		"yarn.resourcemanager.nodes.exclude-path":   p.paths.excludes(),
		// Used if an option sets yarn.resourcemanager.recovery.enabled.
		"yarn.resourcemanager.fs.state-store.uri": fileURI(p.paths.resourceManagerState()),
		// The default, below /tmp, is shared by all ResourceManagers of a user, and each
		// removes the others' files when it starts.
		"yarn.node-attribute.fs-store.root-dir": fileURI(p.paths.nodeAttributes()),
	}.with(secure.yarn, s.yarn)
	return s
}

func (p properties) scheduler() string {
	const schedulers = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."
	if p.options.FairScheduler {
		return schedulers + "fair.FairScheduler"
	}
	return schedulers + "capacity.CapacityScheduler"
}

// resourceManager returns the ResourceManager's configuration.
func (p properties) resourceManager() site {
	const prefix = "yarn.scheduler.capacity."
	s := p.daemon()
	s.capacityScheduler = Properties{
		prefix + "root.queues":                   "default,batch",
		prefix + "root.default.capacity":         "50",
		prefix + "root.default.maximum-capacity": "100",
		prefix + "root.batch.capacity":           "50",
		prefix + "root.batch.maximum-capacity":   "100",
		// One user may use a queue's maximum, and ApplicationMasters the whole cluster.
		prefix + "root.default.user-limit-factor": "100",
		prefix + "root.batch.user-limit-factor":   "100",
		prefix + "maximum-am-resource-percent":    "1.0",
		// These two values are those of the file that comes with Hadoop.
		prefix + "node-locality-delay": "40",
		prefix + "resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	}.with(p.kerberos().capacityScheduler, p.options.CapacityScheduler)
	return s
}

// dataNode returns the configuration of a node's DataNode.
func (p properties) dataNode(index int) site {
	host := p.options.Nodes[index].Host
	addresses := p.endpoints[dataNodeName(index)]
	s := p.daemon()
	if p.options.Kerberos {
		s.hdfs["dfs.datanode.kerberos.principal"] = "dn/" + masterHost + "@" + kdctest.Realm
	}
	s.hdfs = s.hdfs.with(p.options.Nodes[index].HDFS, Properties{
		"dfs.datanode.hostname":               host,
		"dfs.datanode.address":                addresses[RPC],
		"dfs.datanode.ipc.address":            addresses[Admin],
		p.webKey("dfs.datanode.http.address"): addresses[HTTP],
		"dfs.datanode.data.dir":               fileURI(p.paths.dataDir(index)),
	})
	return s
}

// nodeManager returns the configuration of a node's NodeManager.
func (p properties) nodeManager(index int) site {
	node := p.options.Nodes[index]
	addresses := p.endpoints[nodeManagerName(index)]
	s := p.daemon()
	s.yarn = Properties{
		"yarn.nodemanager.resource.memory-mb":  strconv.Itoa(node.MemoryMB),
		"yarn.nodemanager.resource.cpu-vcores": strconv.Itoa(node.VCores),
		// Containers that exceed their memory are killed, and checked often. With the default,
		// memory.enforced=true, the NodeManager would check nothing, because it would rely on
		// cgroups, which are not used here.
		"yarn.nodemanager.resource.memory.enforced": "false",
		"yarn.nodemanager.pmem-check-enabled":       "true",
		// A small Go program maps 1.5 GB of address space. If YARN limited that to 2.1 times
		// the physical memory, as by default, it would kill containers below 750 MB.
		"yarn.nodemanager.vmem-check-enabled":                   "false",
		"yarn.nodemanager.container-monitor.interval-ms":        "1000",
		"yarn.nodemanager.container-monitor.process-tree.class": "org.apache.hadoop.yarn.util.ProcfsBasedProcessTree",
		// The machine's disk may be nearly full.
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
		"yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb":               "0",
		"yarn.nodemanager.delete.debug-delay-sec":                                       "0",
		"yarn.nodemanager.log.retain-seconds":                                           "86400",
		// Used if an option sets yarn.nodemanager.recovery.enabled.
		"yarn.nodemanager.recovery.dir": p.paths.nodeRecoveryDir(index),
	}.with(s.yarn, Properties{
		"yarn.nodemanager.hostname":                 node.Host,
		"yarn.nodemanager.bind-host":                node.Host,
		"yarn.nodemanager.address":                  addresses[RPC],
		"yarn.nodemanager.localizer.address":        addresses[Localizer],
		p.webKey("yarn.nodemanager.webapp.address"): addresses[HTTP],
		"yarn.nodemanager.local-dirs":               p.paths.localDir(index),
		"yarn.nodemanager.log-dirs":                 p.paths.containerLogDir(index),
	})
	if p.options.ShuffleService {
		s.yarn["yarn.nodemanager.aux-services"] = "mapreduce_shuffle"
		s.mapred = Properties{"mapreduce.shuffle.port": "0"}
	}
	if p.options.Kerberos {
		// Only NodeManagers have this key. If the ResourceManager had it too, it would compare
		// the principal with the address from which a NodeManager connects, which is
		// 127.0.0.1 for all of them.
		s.yarn["yarn.nodemanager.principal"] = "nm/" + masterHost + "@" + kdctest.Realm
	}
	return s
}

func fileURI(path string) string { return "file://" + path }

package cluster

import (
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
)

// site is the configuration of a daemon or a client. Each field contains the properties in one
// configuration file.
type site struct {
	core, hdfs, yarn  Properties
	capacityScheduler Properties // only for the ResourceManager
	sslClient         Properties // nil without HTTPS
	sslServer         Properties // only for daemons; nil without HTTPS
	mapred            Properties // mapred-site.xml, only for NodeManagers with the shuffle service
}

// properties computes the configuration of the cluster's daemons and clients.
type properties struct {
	options   Options
	paths     paths
	endpoints map[string]map[Endpoint]string // addresses by daemon name and endpoint
}

func (p properties) client() site {
	rm := p.endpoints[resourceManagerName]
	secure, services, https := p.kerberos(), p.nameservices(), p.https()
	return site{
		core: services.core.with(secure.core, p.options.Core),
		hdfs: Properties{
			"dfs.replication": "1",
			// Blocks are small, so that a test's file has blocks on several nodes.
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

// daemon returns the configuration that is common to all daemons.
func (p properties) daemon() site {
	s := p.client()
	s.sslServer = p.https().sslServer
	secure := p.kerberosDaemon()
	s.core = Properties{
		"hadoop.tmp.dir": p.paths.tmp(),
		// RawTableMapping is TableMapping without a cache. With the cache, the NameNode would
		// look up a DataNode's rack by the address from which the DataNode connects, which is
		// 127.0.0.1 for all DataNodes. The ResourceManager caches racks itself.
		"net.topology.node.switch.mapping.impl": "org.apache.hadoop.net.TableMapping$RawTableMapping",
		"net.topology.table.file.name":          p.paths.topology(),
		// All daemons start at the same time, so they retry connections to daemons that do not
		// listen yet.
		"ipc.client.connect.retry.interval": "200",
		"ipc.client.connect.max.retries":    "150",
		// The default is a file in the home directory, which all clusters would share.
		"hadoop.http.authentication.signature.secret.file": p.paths.httpSecret(),
	}.with(secure.core, s.core)
	s.hdfs = Properties{
		"dfs.namenode.datanode.registration.ip-hostname-check": "false",
		"dfs.namenode.fs-limits.min-block-size":                "1024",
		"dfs.namenode.safemode.extension":                      "0",
		// The data need not survive a power failure, and HDFS need not reserve disk space.
		"dfs.namenode.edits.noeditlogchannelflush": "true",
		"dfs.namenode.resource.du.reserved":        "0",
		"dfs.datanode.du.reserved":                 "0",
	}.with(secure.hdfs, s.hdfs)
	s.yarn = Properties{
		"yarn.resourcemanager.connect.retry-interval.ms": "300",
		"yarn.resourcemanager.scheduler.class":           p.scheduler(),
		// By default, the FairScheduler creates a queue for each user and rounds memory up to
		// whole gigabytes.
		"yarn.scheduler.fair.user-as-default-queue": "false",
		"yarn.scheduler.increment-allocation-mb":    "128",
		"yarn.resourcemanager.nodes.exclude-path":   p.paths.excludes(),
		// Has an effect only if yarn.resourcemanager.recovery.enabled is set.
		"yarn.resourcemanager.fs.state-store.uri": fileURI(p.paths.resourceManagerState()),
		// By default, all ResourceManagers of a user share a directory below /tmp, in which
		// each removes the others' files when it starts.
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

func (p properties) resourceManager() site {
	const prefix = "yarn.scheduler.capacity."
	s := p.daemon()
	s.capacityScheduler = Properties{
		prefix + "root.queues":                   "default,batch",
		prefix + "root.default.capacity":         "50",
		prefix + "root.default.maximum-capacity": "100",
		prefix + "root.batch.capacity":           "50",
		prefix + "root.batch.maximum-capacity":   "100",
		// One user may use the whole queue, and ApplicationMasters may use the whole cluster.
		prefix + "root.default.user-limit-factor": "100",
		prefix + "root.batch.user-limit-factor":   "100",
		prefix + "maximum-am-resource-percent":    "1.0",
		// These two values are from the capacity-scheduler.xml in Hadoop's distribution.
		prefix + "node-locality-delay": "40",
		prefix + "resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	}.with(p.kerberos().capacityScheduler, p.options.CapacityScheduler)
	return s
}

// dataNode returns the configuration of the DataNode on the node with the given index.
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

// nodeManager returns the configuration of the NodeManager on the node with the given index.
func (p properties) nodeManager(index int) site {
	node := p.options.Nodes[index]
	addresses := p.endpoints[nodeManagerName(index)]
	s := p.daemon()
	s.yarn = Properties{
		"yarn.nodemanager.resource.memory-mb":  strconv.Itoa(node.MemoryMB),
		"yarn.nodemanager.resource.cpu-vcores": strconv.Itoa(node.VCores),
		// The NodeManager polls the memory of containers and kills those that exceed their
		// limit. With the default, memory.enforced=true, the NodeManager would not poll,
		// because it would rely on cgroups, which are not configured here.
		"yarn.nodemanager.resource.memory.enforced": "false",
		"yarn.nodemanager.pmem-check-enabled":       "true",
		// Do not limit virtual memory. A small Go program maps 1.5 GB of address space. YARN's
		// default limit is 2.1 times the physical memory, so YARN would kill such programs in
		// containers below 750 MB.
		"yarn.nodemanager.vmem-check-enabled":                   "false",
		"yarn.nodemanager.container-monitor.process-tree.class": "org.apache.hadoop.yarn.util.ProcfsBasedProcessTree",
		// Tolerate a nearly full disk of the test machine.
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
		"yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb":               "0",
		"yarn.nodemanager.delete.debug-delay-sec":                                       "0",
		"yarn.nodemanager.log.retain-seconds":                                           "86400",
		// Has an effect only if yarn.nodemanager.recovery.enabled is set.
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
		// Set this property only for NodeManagers. If the ResourceManager had it, it would
		// compare the principal's host with the address from which a NodeManager connects,
		// which is 127.0.0.1 for all NodeManagers.
		s.yarn["yarn.nodemanager.principal"] = "nm/" + masterHost + "@" + kdctest.Realm
	}
	return s
}

func fileURI(path string) string { return "file://" + path }

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// paths computes the paths below a cluster's directory:
//
//	cluster.json   the daemons, their commands, addresses and processes
//	lock           locked while a process starts, stops or owns the cluster
//	client/        the clients' configuration directory
//	conf/DAEMON/   each daemon's configuration directory
//	conf/web/      the web.xml files of HDFS's web servers, on the class path of all daemons
//	logs/          the daemons' output
//	hdfs/, yarn/   the NameNodes' and the ResourceManager's data
//	node-N/        a node's blocks, localized files and container logs
//	tmp/           the daemons' temporary files
//	classes/       lists of the classes that daemons have loaded, if no classArchive exists
type paths struct{ dir string }

func (p paths) state() string                { return filepath.Join(p.dir, "cluster.json") }
func (p paths) lock() string                 { return filepath.Join(p.dir, "lock") }
func (p paths) client() string               { return filepath.Join(p.dir, "client") }
func (p paths) conf(daemon string) string    { return filepath.Join(p.dir, "conf", daemon) }
func (p paths) webXMLRoot() string           { return filepath.Join(p.dir, "conf", "web") }
func (p paths) hosts() string                { return filepath.Join(p.dir, "conf", "hosts") }
func (p paths) topology() string             { return filepath.Join(p.dir, "conf", "topology") }
func (p paths) excludes() string             { return filepath.Join(p.dir, "conf", "excludes") }
func (p paths) httpSecret() string           { return filepath.Join(p.dir, "conf", "http-secret") }
func (p paths) log4j() string                { return filepath.Join(p.dir, "conf", "log4j.properties") }
func (p paths) log(daemon string) string     { return filepath.Join(p.dir, "logs", daemon+".log") }
func (p paths) tmp() string                  { return filepath.Join(p.dir, "tmp") }
func (p paths) classes() string              { return filepath.Join(p.dir, "classes") }
func (p paths) nameDir(daemon string) string { return filepath.Join(p.dir, "hdfs", daemon) }
func (p paths) sharedEdits() string          { return filepath.Join(p.dir, "hdfs", "shared") }
func (p paths) resourceManagerState() string { return filepath.Join(p.dir, "yarn", "state") }
func (p paths) nodeAttributes() string       { return filepath.Join(p.dir, "yarn", "attributes") }
func (p paths) node(index int) string        { return filepath.Join(p.dir, fmt.Sprintf("node-%d", index+1)) }
func (p paths) dataDir(index int) string     { return filepath.Join(p.node(index), "data") }
func (p paths) localDir(index int) string    { return filepath.Join(p.node(index), "local") }
func (p paths) containerLogDir(index int) string {
	return filepath.Join(p.node(index), "containers")
}
func (p paths) nodeRecoveryDir(index int) string { return filepath.Join(p.node(index), "recovery") }

// clean removes the files of an earlier cluster in the directory, except the logs and the lock.
func (p paths) clean() error {
	made := []string{p.state(), p.client(), p.tmp(), p.classes()}
	for _, name := range []string{"conf", "hdfs", "yarn"} {
		made = append(made, filepath.Join(p.dir, name))
	}
	nodes, err := filepath.Glob(filepath.Join(p.dir, "node-*"))
	errs := []error{err}
	for _, path := range append(made, nodes...) {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// log4j is the Log4j configuration of all daemons. They log to standard error, which is
// redirected to the daemon's log file.
const log4j = `log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %-5p %c{2} - %m%n
# One line for each HTTP request, each block and each retry of a daemon that waits for another.
log4j.logger.http.requests=WARN
log4j.logger.BlockStateChange=WARN
log4j.logger.org.apache.hadoop.hdfs.StateChange=WARN
log4j.logger.org.apache.hadoop.ipc.Client=WARN
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
`

// webXML is an empty web application. NameNodes and DataNodes need one for their web servers, and
// Hadoop's jars contain none.
const webXML = `<web-app xmlns="http://java.sun.com/xml/ns/javaee" version="2.5"></web-app>
`

// fairScheduler is the allocation file of YARN's FairScheduler. ApplicationMasters may use all
// resources of a queue.
const fairScheduler = `<allocations>
  <queue name="default"/>
  <queue name="batch"/>
  <queueMaxAMShareDefault>-1.0</queueMaxAMShareDefault>
  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
</allocations>
`

// write creates the cluster's directories and writes all configuration files.
func (p paths) write(settings properties) error {
	hostname, err := os.Hostname()
	if err != nil {
		return err
	}
	// The JVMs resolve names only through this file, so that they never wait for a DNS server.
	// The first name in each line is the address itself, which Daemons use as the host's name.
	hosts := masterHost + " " + masterHost + " localhost " + hostname + "\n"
	topology := ""
	for _, node := range settings.options.Nodes {
		hosts += node.Host + " " + node.Host + "\n"
		topology += node.Host + " " + node.Rack + "\n"
	}
	files := map[string]string{
		p.hosts():      hosts,
		p.topology():   topology,
		p.log4j():      log4j,
		p.excludes():   "",
		p.httpSecret(): "bobbin",
		filepath.Join(p.conf(resourceManagerName), "fair-scheduler.xml"):           fairScheduler,
		filepath.Join(p.webXMLRoot(), "webapps", "hdfs", "WEB-INF", "web.xml"):     webXML,
		filepath.Join(p.webXMLRoot(), "webapps", "datanode", "WEB-INF", "web.xml"): webXML,
	}
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	if settings.options.HTTPS {
		if err := p.writeStores(settings.options.Nodes); err != nil {
			return err
		}
	}
	sites := map[string]site{
		p.client():                  settings.client(),
		p.conf(resourceManagerName): settings.resourceManager(),
	}
	for _, namenode := range settings.options.nameNodes() {
		sites[p.conf(namenode.daemon)] = settings.nameNode(namenode)
	}
	for i := range settings.options.Nodes {
		sites[p.conf(dataNodeName(i))] = settings.dataNode(i)
		sites[p.conf(nodeManagerName(i))] = settings.nodeManager(i)
	}
	for dir, s := range sites {
		if err := s.write(dir); err != nil {
			return err
		}
	}
	for _, dir := range []string{p.tmp(), filepath.Dir(p.log("x"))} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// write writes the configuration files to the directory dir. It writes no file for nil
// properties.
func (s site) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, properties := range map[string]Properties{
		"core-site.xml":          s.core,
		"hdfs-site.xml":          s.hdfs,
		"yarn-site.xml":          s.yarn,
		"capacity-scheduler.xml": s.capacityScheduler,
		"mapred-site.xml":        s.mapred,
		"ssl-client.xml":         s.sslClient,
		"ssl-server.xml":         s.sslServer,
	} {
		if properties == nil {
			continue
		}
		if err := properties.write(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// lastLines returns the last count lines of a daemon's output. It omits the banner with the
// class path (STARTUP_MSG) and truncates long lines.
func lastLines(output []byte, count int) string {
	const width = 400
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(string(output), "\n"), "\n") {
		if strings.HasPrefix(line, "STARTUP_MSG:") {
			continue
		}
		if len(line) > width {
			line = line[:width] + "…"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

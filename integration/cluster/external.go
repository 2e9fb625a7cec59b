package cluster

import (
	"context"
	"log/slog"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
)

// External returns a Cluster of daemons that this package did not start and cannot stop. The
// directory dir/client must contain the clients' configuration. On a cluster without Kerberos,
// kdc is nil. On a cluster with Kerberos, PrepareKerberos must have prepared dir.
func External(dir string, kdc, nameNode, resourceManager *Daemon, nodes ...*Node) *Cluster {
	return &Cluster{
		paths: paths{dir}, logger: slog.New(slog.DiscardHandler), kdc: kdc,
		namenode: nameNode, resourceManager: resourceManager, nodes: nodes,
	}
}

// ExternalDaemon returns a Daemon for External with the given name and addresses.
func ExternalDaemon(name string, endpoints map[Endpoint]string) *Daemon {
	return &Daemon{
		name: name, endpoints: endpoints, logger: slog.New(slog.DiscardHandler),
		record: func(string, process) error { return nil },
	}
}

// Kerberos is the Kerberos set-up of an External cluster. PrepareKerberos creates it.
type Kerberos struct {
	// KDC contains the principals of all daemons and users.
	KDC *kdctest.KDC
	// Clients and Daemons are the Hadoop properties that clients and daemons need, for any of
	// Hadoop's configuration files.
	Clients, Daemons Properties
	// DaemonKeytab is the path of the keytab in the properties Daemons.
	DaemonKeytab string
	// Keytabs are the paths of the keytabs of the hosts, by host name. Each contains only the
	// keys of the host's daemons, and must be available on the host as DaemonKeytab.
	Keytabs map[string]string
	// Classes is a directory of Java classes that replace classes of Hadoop in the daemons. It
	// must precede Hadoop's jars on the class path.
	Classes string
}

// PrepareKerberos prepares Kerberos for an External cluster: it creates the KDC's database and
// keytabs in dir. The KDC will listen at address (host:port). services lists the names of each
// host's services, such as "nn"; PrepareKerberos adds "HTTP" for each host.
func PrepareKerberos(ctx context.Context, dir, address string, services map[string][]string, logger *slog.Logger) (*Kerberos, error) {
	java, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	jars, err := Jars(ctx, DefaultHadoopVersion, logger)
	if err != nil {
		return nil, err
	}
	p := properties{options: Options{Kerberos: true}, paths: paths{dir}}
	if err := compileReplacements(ctx, java, jars, p.paths.replacements()); err != nil {
		return nil, err
	}
	principals, all := map[string][]string{}, []string(nil)
	for host, names := range services {
		for _, name := range append([]string{"HTTP"}, names...) {
			principals[host] = append(principals[host], name+"/"+host)
		}
		all = append(all, principals[host]...)
	}
	kdc, err := p.paths.createKDC(ctx, address, p.options.Encryption, all)
	if err != nil {
		return nil, err
	}
	k := &Kerberos{KDC: kdc, DaemonKeytab: p.paths.keytab(servicesKeytab), Keytabs: map[string]string{}, Classes: p.paths.replacements()}
	for host := range services {
		k.Keytabs[host] = p.paths.keytab(host)
		if err := kdc.CopyKeys(ctx, k.Keytabs[host], principals[host]...); err != nil {
			return nil, err
		}
	}
	clients, daemons := p.kerberos(), p.kerberosDaemon()
	k.Clients = clients.core.with(clients.hdfs, clients.yarn)
	k.Daemons = k.Clients.with(clients.capacityScheduler, daemons.core, daemons.hdfs, daemons.yarn, Properties{
		"dfs.datanode.kerberos.principal": "dn/_HOST@" + kdctest.Realm,
		"yarn.nodemanager.principal":      "nm/_HOST@" + kdctest.Realm,
	})
	return k, nil
}

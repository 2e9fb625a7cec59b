package cluster

import (
	"context"
	"log/slog"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
)

// External returns a Cluster for daemons that this package did not start and cannot
// stop. The directory dir/client must have the clients' configuration. The kdc is nil on a
// cluster without Kerberos; for one with it, PrepareKerberos has filled dir.
func External(dir string, kdc, nameNode, resourceManager *Daemon, nodes ...*Node) *Cluster {
	return &Cluster{
		paths: paths{dir}, logger: slog.New(slog.DiscardHandler), kdc: kdc,
		namenode: nameNode, resourceManager: resourceManager, nodes: nodes,
	}
}

// ExternalDaemon returns a Daemon for External, with a name and the addresses of its endpoints.
func ExternalDaemon(name string, endpoints map[Endpoint]string) *Daemon {
	return &Daemon{
		name: name, endpoints: endpoints, logger: slog.New(slog.DiscardHandler),
		record: func(string, process) error { return nil },
	}
}

// Kerberos is what daemons and clients of an External cluster with Kerberos need.
type Kerberos struct {
	// KDC has the principals of all daemons and users.
	KDC *kdctest.KDC
	// Clients and Daemons are properties of any of Hadoop's configuration files.
	Clients, Daemons Properties
	// DaemonKeytab is the keytab that Daemons name.
	DaemonKeytab string
	// Keytabs are the files to have as DaemonKeytab, by host: each has the host's keys alone.
	Keytabs map[string]string
	// Classes is a directory of Java classes that daemons load in place of Hadoop's.
	Classes string
}

// PrepareKerberos makes an External cluster's Kerberos in dir. The KDC will listen at
// address, and services are those of each host, such as "nn", and always "HTTP".
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

package containers

import (
	"context"
	"maps"
	"path/filepath"
	"strings"

	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// kdcAddress is the address (host:port) of the KDC.
const kdcAddress = KDC + ":88"

// services returns the names of the Kerberos services on each host, by host name.
func services() map[string][]string {
	all := map[string][]string{NameNode: {"nn"}, ResourceManager: {"rm"}}
	for _, name := range Workers() {
		all[name] = []string{"dn", "nm"}
	}
	return all
}

// withKerberos creates the KDC's database. It returns all hosts to create: first the KDC, then
// those in specs. Every host in specs gets krb5.conf. Each host with daemons also gets its
// keytab and the configuration of a secure cluster, overridden by properties. The
// returned map clients has the Hadoop properties for client programs.
func (c *Cluster) withKerberos(ctx context.Context, specs []hostSpec, properties map[string]string) (all []hostSpec, clients map[string]string, err error) {
	secure, err := cluster.PrepareKerberos(ctx, c.state.Dir, kdcAddress, services(), c.logger)
	if err != nil {
		return nil, nil, err
	}
	// Write the properties to files. A NodeManager's localizer process reads only files, and
	// does not get the properties in the NodeManager's arguments.
	conf := filepath.Join(c.state.Dir, "daemons")
	if err := writeConf(conf, overridden(secure.Daemons, properties)); err != nil {
		return nil, nil, err
	}
	for i := range specs {
		specs[i].files = []string{secure.KDC.Config() + ":/etc/krb5.conf:ro"}
		keytab, found := secure.Keytabs[specs[i].name]
		if !found {
			continue
		}
		specs[i].files = append(specs[i].files, keytab+":"+secure.DaemonKeytab+":ro", secure.Classes+"/org:/etc/hadoop/org:ro")
		for _, file := range siteFiles {
			specs[i].files = append(specs[i].files, filepath.Join(conf, file)+":/etc/hadoop/"+file+":ro")
		}
	}
	variables := map[string]string{}
	for _, variable := range secure.KDC.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}
	kdc := hostSpec{
		name: KDC, command: []string{"kdc"}, files: []string{secure.KDC.Dir + ":" + secure.KDC.Dir},
		environment: variables, started: wait.ForLog("commencing operation"),
	}
	return append([]hostSpec{kdc}, specs...), overridden(secure.Clients, properties), nil
}

func overridden(properties cluster.Properties, by map[string]string) map[string]string {
	all := maps.Clone(properties)
	maps.Copy(all, by)
	return all
}

// makeDirectories creates the users' home directories in HDFS. It must run in the cluster's
// network, because the NameNode's principal contains a host name that can be resolved only
// there.
func (c *Cluster) makeDirectories(ctx context.Context) error {
	hadoop, err := c.HadoopCluster(ctx)
	if err != nil {
		return err
	}
	return hadoop.MakeDirectories(ctx)
}

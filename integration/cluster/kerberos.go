package cluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/colinmarc/hdfs/v2"
	krb5client "github.com/jcmturner/gokrb5/v8/client"
	krb5config "github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
)

const kdcName = "kdc"

// Users of a cluster with Kerberos. Password is the password of each.
const (
	Alice    = "alice"
	Bob      = "bob"
	Gateway  = "gateway" // proxy user, which may impersonate Alice
	Password = "geheim"
)

// kdcDir returns the directory of the KDC's database, krb5.conf and the keytabs.
func (p paths) kdcDir() string             { return filepath.Join(p.dir, "kdc") }
func (p paths) keytab(owner string) string { return filepath.Join(p.kdcDir(), owner+".keytab") }
func (p paths) replacements() string       { return filepath.Join(p.dir, "conf", "replacements") }

// servicesKeytab is the argument of paths.keytab for the keytab with the keys of all daemons.
const servicesKeytab = "services"

// KDC returns the KDC's daemon, or nil on a cluster without Kerberos.
func (c *Cluster) KDC() *Daemon { return c.kdc }

// Kerberos returns the cluster's KDC for tests that configure logins or change principals. It
// returns nil on a cluster without Kerberos.
func (c *Cluster) Kerberos() *kdctest.KDC {
	if c.kdc == nil {
		return nil
	}
	return &kdctest.KDC{Dir: c.paths.kdcDir(), Address: c.kdc.Address(RPC)}
}

// Keytab returns the path of a user's keytab.
func (c *Cluster) Keytab(user string) string { return c.paths.keytab(user) }

// webServers returns a client for the daemons' web servers. On a cluster with Kerberos, the
// client authenticates with the principal HTTP/127.0.0.1.
func (c *Cluster) webServers(ctx context.Context) (webClient, error) {
	servers, err := c.paths.webServers()
	if c.kdc == nil || err != nil {
		return servers, err
	}
	if c.administrator == nil {
		var err error
		c.administrator, err = kerberos.Open(ctx, kerberos.Options{
			Principal: "HTTP/" + masterHost, Keytab: c.paths.keytab(servicesKeytab), Config: c.Kerberos().Config(),
		})
		if err != nil {
			return webClient{}, err
		}
	}
	servers.RoundTripper = c.administrator.RoundTripper(servers.RoundTripper)
	return servers, nil
}

// superuser returns the options of an HDFS client that acts as the superuser of a NameNode.
// This is the user who runs the NameNode or, on a cluster with Kerberos, the NameNode's own
// principal.
func (c *Cluster) superuser(namenode *Daemon) (hdfs.ClientOptions, error) {
	options := hdfs.ClientOptions{Addresses: []string{namenode.Address(RPC)}}
	if c.kdc == nil {
		account, err := user.Current()
		if err == nil {
			options.User = account.Username // the same user runs the NameNode
		}
		return options, err
	}
	krb5, err := krb5config.Load(c.Kerberos().Config())
	if err != nil {
		return options, err
	}
	keys, err := keytab.Load(c.paths.keytab(servicesKeytab))
	if err != nil {
		return options, err
	}
	host, _, err := net.SplitHostPort(namenode.Address(RPC))
	if err != nil {
		return options, err
	}
	login := krb5client.NewWithKeytab("nn/"+host, kdctest.Realm, keys, krb5)
	options.KerberosClient, options.KerberosServicePrincipleName = login, "nn/_HOST"
	return options, login.Login()
}

// prepareKerberos creates the KDC's database with the principals of all daemons and users. It
// returns the KDC's daemon and the environment variables for it.
func (c *Cluster) prepareKerberos(ctx context.Context, options Options) (daemonState, []string, error) {
	fail := func(err error) (daemonState, []string, error) { return daemonState{}, nil, err }
	address, err := c.ports.Reserve(masterHost)
	if err != nil {
		return fail(err)
	}
	principals := []string{"nn/" + masterHost, "dn/" + masterHost, "rm/" + masterHost, "nm/" + masterHost, "HTTP/" + masterHost}
	for _, node := range options.Nodes {
		principals = append(principals, "HTTP/"+node.Host)
	}
	kdc, err := c.paths.createKDC(ctx, address, options.Encryption, principals)
	if err != nil {
		return fail(err)
	}
	command, err := kdc.Command()
	return daemonState{Name: kdcName, Command: command, Endpoints: map[Endpoint]string{RPC: address}}, kdc.Environ(), err
}

// createKDC creates the database of a KDC with the users and the given principals of daemons,
// and writes their keytabs. address is where the KDC will listen. encryption is
// Options.Encryption.
func (p paths) createKDC(ctx context.Context, address, encryption string, daemons []string) (*kdctest.KDC, error) {
	if err := os.RemoveAll(p.kdcDir()); err != nil {
		return nil, err
	}
	kdc, err := kdctest.New(ctx, p.kdcDir(), address, encryption)
	if err != nil {
		return nil, err
	}
	if err := kdc.AddKeytab(ctx, p.keytab(servicesKeytab), daemons...); err != nil {
		return nil, err
	}
	for _, user := range []string{Alice, Bob, Gateway} {
		if err := kdc.AddUser(ctx, user, Password); err != nil {
			return nil, err
		}
		if err := kdc.CopyKeys(ctx, p.keytab(user), user); err != nil {
			return nil, err
		}
	}
	return kdc, nil
}

// kerberos returns the properties of daemons and clients on a cluster with Kerberos, or none on
// another cluster.
func (p properties) kerberos() site {
	if !p.options.Kerberos {
		return site{}
	}
	principal := func(name string) string { return name + "/_HOST@" + kdctest.Realm }
	return site{
		core: Properties{
			"hadoop.security.authentication": "kerberos",
			"hadoop.security.authorization":  "true",
		},
		hdfs: Properties{
			"dfs.block.access.token.enable":   "true",
			"dfs.namenode.kerberos.principal": principal("nn"),
			"dfs.data.transfer.protection":    "authentication",
		},
		yarn: Properties{
			"yarn.resourcemanager.principal": principal("rm"),
			"yarn.acl.enable":                "true",
			"yarn.admin.acl":                 "rm",
		},
		capacityScheduler: Properties{
			// By default, every user may kill every application.
			"yarn.scheduler.capacity.root.acl_administer_queue": "rm",
		},
	}
}

// kerberosDaemon returns the additional properties of daemons on a cluster with Kerberos, or
// none on another cluster.
func (p properties) kerberosDaemon() site {
	if !p.options.Kerberos {
		return site{}
	}
	keytab := p.paths.keytab(servicesKeytab)
	s := site{
		core: Properties{
			// The ResourceManager may impersonate all users, because it renews their tokens.
			"hadoop.proxyuser.rm.hosts":  "*",
			"hadoop.proxyuser.rm.groups": "*",
			// The gateway may impersonate only Alice.
			"hadoop.proxyuser." + Gateway + ".hosts": "*",
			"hadoop.proxyuser." + Gateway + ".users": Alice,
		},
		hdfs: Properties{
			"dfs.namenode.keytab.file":                        keytab,
			"dfs.datanode.keytab.file":                        keytab,
			"dfs.web.authentication.kerberos.principal":       "HTTP/_HOST@" + kdctest.Realm,
			"dfs.web.authentication.kerberos.keytab":          keytab,
			"dfs.namenode.kerberos.internal.spnego.principal": "HTTP/_HOST@" + kdctest.Realm,
			// Without HTTPS, secure DataNodes would have to listen on ports below 1024.
			"ignore.secure.ports.for.testing": strconv.FormatBool(!p.options.HTTPS),
		},
		yarn: Properties{
			"yarn.resourcemanager.keytab":                     keytab,
			"yarn.resourcemanager.webapp.spnego-principal":    "HTTP/_HOST@" + kdctest.Realm,
			"yarn.resourcemanager.webapp.spnego-keytab-file":  keytab,
			"yarn.nodemanager.keytab":                         keytab,
			"yarn.nodemanager.webapp.spnego-principal":        "HTTP/_HOST@" + kdctest.Realm,
			"yarn.nodemanager.webapp.spnego-keytab-file":      keytab,
			"yarn.nodemanager.linux-container-executor.group": "root",
		},
	}
	if p.options.SPNEGO {
		s.core["hadoop.http.filter.initializers"] = "org.apache.hadoop.security.AuthenticationFilterInitializer"
		s.core["hadoop.http.authentication.type"] = "kerberos"
		s.core["hadoop.http.authentication.simple.anonymous.allowed"] = "false"
		s.core["hadoop.http.authentication.kerberos.principal"] = "HTTP/_HOST@" + kdctest.Realm
		s.core["hadoop.http.authentication.kerberos.keytab"] = keytab
	}
	return s
}

//go:embed SecureIOUtils.java
var secureIOUtils []byte

// compileReplacements compiles SecureIOUtils, which replaces Hadoop's class of the same name in
// the NodeManagers of a secure cluster. The target is the oldest supported Java release.
func compileReplacements(ctx context.Context, java java, jars []string, dir string) error {
	source := filepath.Join(dir, "SecureIOUtils.java")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(source, secureIOUtils, 0o644); err != nil {
		return err
	}
	compiler := filepath.Join(filepath.Dir(java.path), "javac")
	if _, err := os.Stat(compiler); err != nil {
		found, err := exec.LookPath("javac")
		if err != nil {
			return errors.New("no javac: a cluster with Kerberos needs a JDK (Debian, Ubuntu: apt-get install openjdk-17-jdk-headless)")
		}
		compiler = found
	}
	output, err := exec.CommandContext(ctx, compiler, "--release", strconv.Itoa(minimumJava), "-d", dir, "-cp", strings.Join(jars, ":"), source).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", compiler, err, output)
	}
	return nil
}

// launchKDC starts the KDC and waits until it listens. It does nothing on a cluster without
// Kerberos.
func (c *Cluster) launchKDC(ctx context.Context) error {
	if c.kdc == nil {
		return nil
	}
	if err := c.kdc.launch(); err != nil {
		return err
	}
	return c.kdc.waitListening(ctx)
}

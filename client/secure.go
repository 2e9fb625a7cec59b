package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/storage"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// managerPrincipal is the key of the ResourceManagers' principal.
const managerPrincipal = "yarn.resourcemanager.principal"

// Identity is the user who calls a cluster, and how.
type Identity struct {
	User     string           // the name in YARN and HDFS
	kerberos *kerberos.Client // nil on a cluster without Kerberos
	keytab   string           // path of the keytab that logged in; "" for none
	real     string           // the name of who logged in and acts for User; "" if User did
}

// Login returns the identity of this process on a cluster. On one with Kerberos, it
// logs in by the settings' keytab, or else reads the ticket cache. If the settings or
// HADOOP_PROXY_USER name another user, the process acts for that one. Close must be
// called.
func Login(hadoop *conf.Config, settings *config.Config) (*Identity, error) {
	proxied := config.ProxyUser.In(settings)
	if hadoop == nil || !hadoop.SecurityEnabled() {
		user, err := security.CurrentUser()
		if err != nil {
			return nil, Usage(err)
		}
		return &Identity{User: cmp.Or(proxied, user.Effective)}, nil
	}
	proxied = cmp.Or(proxied, os.Getenv("HADOOP_PROXY_USER"))
	keytab := config.KerberosKeytab.In(settings)
	if proxied != "" && keytab != "" {
		return nil, Usagef("a proxy user (%s) and a keytab (%s) do not go together: the application of %[1]s would get the keys of another user; log in with kinit",
			proxied, keytab)
	}
	login, err := kerberos.Open(context.Background(), kerberos.Options{
		Principal: config.KerberosPrincipal.In(settings), Keytab: keytab,
	})
	if err != nil {
		return nil, Refused(fmt.Errorf("%w; the cluster asks for Kerberos (hadoop.security.authentication in %s)",
			err, hadoop.Source("hadoop.security.authentication")))
	}
	user, err := userName(hadoop, login)
	if err != nil {
		login.Close()
		return nil, Usage(err)
	}
	identity := &Identity{User: user, kerberos: login, keytab: keytab}
	if proxied != "" && proxied != user {
		identity.User, identity.real = proxied, user
	}
	return identity, nil
}

func userName(hadoop *conf.Config, login *kerberos.Client) (string, error) {
	rules, err := kerberos.ParseRules(hadoop.GetDefault("hadoop.security.auth_to_local", ""), login.Realm())
	if err != nil {
		return "", err
	}
	return rules.User(login.Principal())
}

// Close ends the login.
func (i *Identity) Close() {
	if i.kerberos != nil {
		i.kerberos.Close()
	}
}

// Secure reports whether the cluster asks for Kerberos.
func (i *Identity) Secure() bool { return i.kerberos != nil }

// Storage returns options for file systems that this user accesses.
func (i *Identity) Storage(options storage.Options) storage.Options {
	options.User, options.RealUser, options.Kerberos = i.User, i.real, i.kerberos
	return options
}

// http returns the client with which the user calls REST APIs, nil for the default.
func (i *Identity) http(hadoop *conf.Config) (*http.Client, error) {
	if !i.Secure() {
		return nil, nil
	}
	transport, err := yarnrest.Transport(hadoop)
	if err != nil {
		return nil, Usage(err)
	}
	transport = i.kerberos.RoundTripper(transport)
	if i.real != "" {
		transport = &proxyTransport{RoundTripper: transport, user: i.User}
	}
	return &http.Client{Transport: transport}, nil
}

// proxyTransport makes requests for another user than the one who authenticates.
type proxyTransport struct {
	http.RoundTripper
	user string
}

// RoundTrip adds the parameter by which Hadoop's web servers know the user.
func (p *proxyTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	own := request.Clone(request.Context())
	query := own.URL.Query()
	query.Set("doAs", p.user)
	own.URL.RawQuery = query.Encode()
	return p.RoundTripper.RoundTrip(own)
}

// CloseIdleConnections closes the idle connections of the transport.
func (p *proxyTransport) CloseIdleConnections() {
	if closer, ok := p.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// explainProxy adds the remedy to err if the cluster does not let the user act for another.
func (i *Identity) explainProxy(err error) error {
	// NameNodes, ResourceManagers and web servers say so in the same words.
	if i.real == "" || err == nil || !strings.Contains(err.Error(), "is not allowed to impersonate") {
		return err
	}
	return fmt.Errorf("%w: %s may act for %s if hadoop.proxyuser.%[2]s.users and hadoop.proxyuser.%[2]s.hosts permit it, "+
		"in core-site.xml of the NameNodes and ResourceManagers", err, i.real, i.User)
}

// OpenFiles returns the cluster's file systems for its user. The caller closes them.
func (c *Cluster) OpenFiles() *storage.Files {
	return storage.New(c.identity.Storage(storage.Options{Hadoop: c.hadoop, Logger: c.log}))
}

// manager calls f with a client of the ResourceManager's RPCs.
func (c *Cluster) manager(f func(*yarn.RMClient) error) error {
	addresses, err := c.hadoop.ResourceManagers("yarn.resourcemanager.address")
	if err != nil {
		return err
	}
	options := yarn.ClientOptions{Logger: c.log, RetryFor: cleanupTimeout}
	if c.identity.Secure() {
		options.Kerberos = kerberos.ServiceOf(c.identity.kerberos, c.hadoop, managerPrincipal)
	}
	manager := yarn.NewRMClient(addresses, security.UserGroup{Effective: c.user, Real: c.identity.real}, options)
	return errors.Join(f(manager), manager.Close())
}

// The calls that change something are made by RPC on a cluster with Kerberos: with
// Hadoop's default filter, a ResourceManager's REST API refuses them even to users
// with a ticket.

func (c *Cluster) newApplication(ctx context.Context) (*yarnrest.NewApplication, error) {
	if !c.identity.Secure() {
		return c.rest.NewApplication(ctx)
	}
	application := &yarnrest.NewApplication{}
	err := c.manager(func(manager *yarn.RMClient) error {
		id, maximum, err := manager.NewApplication(ctx)
		application.ID = id.String()
		application.MaximumAllocation = yarnrest.Resource{MemoryMB: maximum.MemoryMB, VCores: int(maximum.VCores)}
		for name, value := range maximum.Others {
			application.MaximumAllocation.Types = append(application.MaximumAllocation.Types, yarnrest.ResourceType{Name: name, Value: value})
		}
		slices.SortFunc(application.MaximumAllocation.Types, func(a, b yarnrest.ResourceType) int { return strings.Compare(a.Name, b.Name) })
		return err
	})
	return application, err
}

func (c *Cluster) killApplication(ctx context.Context, id, reason string) error {
	if !c.identity.Secure() {
		return c.rest.Kill(ctx, id, reason)
	}
	parsed, err := yarn.ParseApplicationID(id)
	if err != nil {
		return err
	}
	return c.manager(func(manager *yarn.RMClient) error { return manager.KillApplication(ctx, parsed, reason) })
}

func (c *Cluster) setLifetime(ctx context.Context, id string, lifetime time.Duration) error {
	if !c.identity.Secure() {
		return c.rest.SetLifetime(ctx, id, lifetime)
	}
	parsed, err := yarn.ParseApplicationID(id)
	if err != nil {
		return err
	}
	return c.manager(func(manager *yarn.RMClient) error {
		return manager.LimitLifetime(ctx, parsed, time.Now().Add(lifetime))
	})
}

package client

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
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

// managerPrincipal is the Hadoop key of the ResourceManagers' principal.
const managerPrincipal = "yarn.resourcemanager.principal"

// Identity is the user as whom this process sends requests to a cluster, with the Kerberos login or
// the delegation tokens that authenticate the process.
type Identity struct {
	User     string                // name of the user in YARN and HDFS
	secure   bool                  // the cluster requires Kerberos
	kerberos *kerberos.Client      // nil if the process has not logged in to Kerberos
	keytab   string                // path of the keytab for the login; "" for none
	real     string                // user who has logged in and impersonates User; "" if User has logged in
	tokens   *security.Credentials // tokens from HADOOP_TOKEN_FILE_LOCATION; nil for none
}

// Login returns the identity of this process on a cluster. On a cluster with Kerberos, Login logs
// in with the keytab in the settings. Without a keytab, it uses the tokens in
// HADOOP_TOKEN_FILE_LOCATION and the ticket cache, of which one suffices. If the settings or
// HADOOP_PROXY_USER name another user, the process impersonates that user. The caller must call
// Close.
func Login(hadoop *conf.Config, settings *config.Config) (*Identity, error) {
	proxied := config.ProxyUser.In(settings)
	if hadoop == nil || !hadoop.SecurityEnabled() {
		user, err := security.CurrentUser()
		if err != nil {
			return nil, UsageError(err)
		}
		return &Identity{User: cmp.Or(proxied, user.Effective)}, nil
	}
	proxied = cmp.Or(proxied, os.Getenv("HADOOP_PROXY_USER"))
	keytab := config.KerberosKeytab.In(settings)
	if proxied != "" && keytab != "" {
		return nil, UsageErrorf("a proxy user (%s) and a keytab (%s) do not go together: the application of %[1]s would get the keys of another user; log in with kinit",
			proxied, keytab)
	}
	identity := &Identity{secure: true, keytab: keytab}
	if keytab == "" && os.Getenv(security.TokenFileVariable) != "" {
		var err error
		if identity.tokens, err = security.CredentialsFromEnvironment(); err != nil {
			return nil, UsageError(err)
		}
	}
	login, err := kerberos.Open(context.Background(), kerberos.Options{
		Principal: config.KerberosPrincipal.In(settings), Keytab: keytab,
	})
	if err != nil && identity.tokens != nil {
		identity.User, err = tokenOwner(hadoop, identity.tokens)
		return identity, UsageError(err)
	}
	if err != nil {
		return nil, RefusedError(&examinableError{fmt.Errorf("%w; the cluster asks for Kerberos (hadoop.security.authentication in %s)",
			err, hadoop.Source("hadoop.security.authentication"))})
	}
	user, err := userName(hadoop, login.Principal(), login.Realm())
	if err != nil {
		login.Close()
		return nil, RefusedError(&examinableError{err})
	}
	identity.User, identity.kerberos = user, login
	if proxied != "" && proxied != user {
		identity.User, identity.real = proxied, user
	}
	return identity, nil
}

// userName returns the name of a principal's user in YARN and HDFS.
func userName(hadoop *conf.Config, principal, realm string) (string, error) {
	rules, err := kerberos.ParseRules(hadoop.GetDefault("hadoop.security.auth_to_local", ""), realm)
	if err != nil {
		return "", err
	}
	return rules.User(principal)
}

// tokenOwner returns the owner of the HDFS token in tokens.
func tokenOwner(hadoop *conf.Config, tokens *security.Credentials) (string, error) {
	token, found := tokens.TokenOfKind(security.KindHDFS)
	if !found {
		return "", fmt.Errorf("there is no Kerberos ticket, and the file that %s names has no token of the kind %s", security.TokenFileVariable, security.KindHDFS)
	}
	identifier, err := token.ParseIdentifier()
	if err != nil {
		return "", err
	}
	_, realm, qualified := strings.Cut(identifier.Owner, "@")
	if !qualified {
		return identifier.Owner, nil
	}
	return userName(hadoop, identifier.Owner, realm)
}

// Close ends the login.
func (i *Identity) Close() {
	if i.kerberos != nil {
		i.kerberos.Close()
	}
}

// Secure reports whether the cluster requires Kerberos.
func (i *Identity) Secure() bool { return i.secure }

// Storage sets the user and the credentials in options for file systems.
func (i *Identity) Storage(options storage.Options) storage.Options {
	options.User, options.RealUser, options.Kerberos, options.Tokens = i.User, i.real, i.kerberos, i.tokens
	return options
}

// http returns the HTTP client for REST APIs; nil for the default client.
func (i *Identity) http(hadoop *conf.Config) (*http.Client, error) {
	if !i.Secure() {
		return nil, nil
	}
	transport, err := yarnrest.Transport(hadoop)
	if err != nil {
		return nil, UsageError(err)
	}
	managers, err := hadoop.ResourceManagers("yarn.resourcemanager.webapp.address")
	if err != nil {
		return nil, UsageError(err)
	}
	if token, found := i.managerToken(hadoop); found {
		transport = &tokenTransport{RoundTripper: transport, managers: managers, token: token.EncodeURL()}
	} else if i.kerberos != nil {
		transport = i.kerberos.RoundTripper(transport)
	}
	if i.real != "" {
		transport = &proxyTransport{RoundTripper: transport, user: i.User}
	}
	return &http.Client{Transport: transport}, nil
}

// managerToken returns the delegation token for the ResourceManagers. The second result reports
// whether there is one.
func (i *Identity) managerToken(hadoop *conf.Config) (security.Token, bool) {
	if i.tokens == nil {
		return security.Token{}, false
	}
	addresses, err := hadoop.ResourceManagers("yarn.resourcemanager.address")
	if err != nil {
		return security.Token{}, false
	}
	for _, token := range i.tokens.Tokens() {
		// With several ResourceManagers, the token's service contains all their addresses.
		for service := range strings.SplitSeq(token.Service, ",") {
			if token.Kind == security.KindRM && slices.ContainsFunc(addresses, func(address string) bool { return sameAddress(address, service) }) {
				return token, true
			}
		}
	}
	return security.Token{}, false
}

// sameAddress reports whether two addresses (host:port) have the same port, and the same host or a
// common IP address.
func sameAddress(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	x, errX := net.ResolveTCPAddr("tcp", a)
	y, errY := net.ResolveTCPAddr("tcp", b)
	return errX == nil && errY == nil && x.Port == y.Port && x.IP.Equal(y.IP)
}

// tokenTransport is a transport that authenticates requests to ResourceManagers by a delegation
// token.
type tokenTransport struct {
	http.RoundTripper
	managers []string // addresses (host:port) of the ResourceManagers
	token    string   // the encoded delegation token
}

// RoundTrip sends a request. If it goes to a ResourceManager, RoundTrip adds the token.
func (t *tokenTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if !slices.Contains(t.managers, request.URL.Host) {
		return t.RoundTripper.RoundTrip(request)
	}
	own := request.Clone(request.Context())
	own.Header.Set("X-Hadoop-Delegation-Token", t.token)
	return t.RoundTripper.RoundTrip(own)
}

// CloseIdleConnections closes the idle connections of the transport.
func (t *tokenTransport) CloseIdleConnections() { closeIdle(t.RoundTripper) }

// proxyTransport is a transport for requests in which the authenticated user impersonates another
// user.
type proxyTransport struct {
	http.RoundTripper
	user string // the impersonated user
}

// RoundTrip adds the query parameter with which Hadoop's web servers recognize the impersonated
// user.
func (p *proxyTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	own := request.Clone(request.Context())
	query := own.URL.Query()
	query.Set("doAs", p.user)
	own.URL.RawQuery = query.Encode()
	return p.RoundTripper.RoundTrip(own)
}

// CloseIdleConnections closes the idle connections of the transport.
func (p *proxyTransport) CloseIdleConnections() { closeIdle(p.RoundTripper) }

func closeIdle(transport http.RoundTripper) {
	if closer, ok := transport.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// isImpersonation reports whether err means that a daemon does not allow a user to impersonate
// another one. NameNodes, ResourceManagers and web servers use the same words.
func isImpersonation(err error) bool {
	return err != nil && strings.Contains(err.Error(), "is not allowed to impersonate")
}

// explainProxy returns err. If the cluster does not allow i.real to impersonate i.User,
// explainProxy adds advice to the error.
func (i *Identity) explainProxy(err error) error {
	if i.real == "" || !isImpersonation(err) {
		return err
	}
	return fmt.Errorf("%w: %s may act for %s if hadoop.proxyuser.%[2]s.users and hadoop.proxyuser.%[2]s.hosts permit it, "+
		"in core-site.xml of the NameNodes and ResourceManagers", err, i.real, i.User)
}

// OpenFileSystems returns a client of the cluster's file systems for the user of c. The caller must
// close it.
func (c *Cluster) OpenFileSystems() *storage.Files {
	return storage.New(c.identity.Storage(storage.Options{Hadoop: c.hadoop, Logger: c.log}))
}

// manager returns the client of the ResourceManager's RPCs. Cluster.Close closes this client.
func (c *Cluster) manager() (*yarn.RMClient, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.rpc != nil {
		return c.rpc, nil
	}
	addresses, err := c.hadoop.ResourceManagers("yarn.resourcemanager.address")
	if err != nil {
		return nil, UsageError(err)
	}
	options := yarn.ClientOptions{Logger: c.log, RetryFor: cleanUpTimeout}
	if token, found := c.identity.managerToken(c.hadoop); found {
		options.Token = token
	} else if c.identity.Secure() && c.identity.kerberos == nil {
		return nil, RefusedError(fmt.Errorf("there is no Kerberos ticket, and the file that %s names has no token of the kind %s for %s",
			security.TokenFileVariable, security.KindRM, strings.Join(addresses, ", ")))
	} else if c.identity.Secure() {
		options.Kerberos = kerberos.ServiceOf(c.identity.kerberos, c.hadoop, managerPrincipal)
	}
	c.rpc = yarn.NewRMClient(addresses, security.UserGroup{Effective: c.user, Real: c.identity.real}, options)
	return c.rpc, nil
}

// On a cluster with Kerberos, requests that change state are RPCs: with Hadoop's default filter,
// the REST API of a ResourceManager refuses such requests even from users with a ticket.

func (c *Cluster) newApplication(ctx context.Context) (*yarnrest.NewApplication, error) {
	if !c.identity.Secure() {
		return c.rest.NewApplication(ctx)
	}
	manager, err := c.manager()
	if err != nil {
		return nil, err
	}
	id, maximum, err := manager.NewApplication(ctx)
	if err != nil {
		return nil, err
	}
	largest := yarnrest.Resource{MemoryMB: maximum.MemoryMB, VCores: int(maximum.VCores)}
	for _, name := range slices.Sorted(maps.Keys(maximum.Others)) {
		largest.Types = append(largest.Types, yarnrest.ResourceType{Name: name, Value: maximum.Others[name]})
	}
	return &yarnrest.NewApplication{ID: id.String(), MaximumAllocation: largest}, nil
}

func (c *Cluster) killApplication(ctx context.Context, id, reason string) error {
	if !c.identity.Secure() {
		return c.rest.Kill(ctx, id, reason)
	}
	parsed, err := yarn.ParseApplicationID(id)
	if err != nil {
		return err
	}
	manager, err := c.manager()
	if err != nil {
		return err
	}
	return restError(manager.KillApplication(ctx, parsed, reason))
}

func (c *Cluster) setLifetime(ctx context.Context, id string, lifetime time.Duration) error {
	if !c.identity.Secure() {
		return c.rest.SetLifetime(ctx, id, lifetime)
	}
	parsed, err := yarn.ParseApplicationID(id)
	if err != nil {
		return err
	}
	manager, err := c.manager()
	if err != nil {
		return err
	}
	return manager.LimitLifetime(ctx, parsed, time.Now().Add(lifetime))
}

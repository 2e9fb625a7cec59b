package storage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode"
)

// NameNodePrincipal is the key of the NameNodes' Kerberos principal in Hadoop's configuration.
const NameNodePrincipal = "dfs.namenode.kerberos.principal"

// NameNodeProtocol is the name of the Java interface of the NameNodes' RPCs for clients.
const NameNodeProtocol = namenode.Protocol

// DelegationToken returns a delegation token with which processes without a Kerberos ticket can
// use the file system of uri as this user. renewer is the Kerberos principal that may renew the
// token. If f itself uses a token for the file system, DelegationToken returns that token.
// Otherwise, f must have Options.Kerberos. It returns the zero Token if the file system needs no
// tokens.
func (f *Files) DelegationToken(ctx context.Context, uri, renewer string) (security.Token, error) {
	system, root, err := f.secureHDFS(uri)
	if err != nil || system == nil {
		return security.Token{}, err
	}
	if own := system.token.Load(); own != nil {
		return *own, nil
	}
	token, err := system.namenode.DelegationToken(ctx, renewer)
	if err != nil {
		return security.Token{}, fmt.Errorf("a delegation token of %s: %w", root, err)
	}
	if !token.IsZero() {
		token.Service, err = tokenService(ctx, f.options.Hadoop, root)
	}
	return token, err
}

// RenewToken renews a delegation token of the file system of uri, and returns the new expiration
// time. The user must be the token's renewer.
func (f *Files) RenewToken(ctx context.Context, uri string, token security.Token) (time.Time, error) {
	system, _, err := f.secureHDFS(uri)
	if err != nil || system == nil {
		return time.Time{}, err
	}
	return system.namenode.RenewToken(ctx, token)
}

// CancelToken invalidates a delegation token of the file system of uri.
func (f *Files) CancelToken(ctx context.Context, uri string, token security.Token) error {
	system, _, err := f.secureHDFS(uri)
	if err != nil || system == nil {
		return err
	}
	return system.namenode.CancelToken(ctx, token)
}

// maxTokenMargin limits the margin of TokensUsableUntil.
const maxTokenMargin = 10 * time.Minute

// TokensUsableUntil returns the time until which new containers can get the delegation tokens of a
// submission, which the ResourceManager renews until the end of their maximum lifetime. It is a
// little earlier than that end, because starting a container takes time. It is zero if the end is
// unknown. tokens may be nil.
func TokensUsableUntil(tokens *security.Credentials) (until time.Time) {
	if tokens == nil {
		return until
	}
	for _, token := range tokens.Tokens() {
		if token.Kind != security.KindHDFS {
			continue
		}
		identifier, err := token.ParseIdentifier()
		if err != nil {
			continue
		}
		end := identifier.MaxDate.Add(-min(maxTokenMargin, identifier.MaxDate.Sub(identifier.Issued)/10))
		if until.IsZero() || end.Before(until) {
			until = end
		}
	}
	return until
}

// cancelTimeout limits CancelTokens, because applications cancel their tokens before they exit.
const cancelTimeout = 5 * time.Second

// CancelTokens invalidates delegation tokens. Their aliases are the URIs of their file systems. It
// takes cancelTimeout at most, also if ctx has ended. It ignores tokens that are no longer valid.
func (f *Files) CancelTokens(ctx context.Context, all ...*security.Credentials) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	var group errgroup.Group
	for _, tokens := range all {
		for uri, token := range tokens.Tokens() {
			group.Go(func() error {
				err := f.CancelToken(ctx, uri, token)
				if errors.Is(err, ipc.InvalidToken) {
					return nil
				}
				return err
			})
		}
	}
	return group.Wait()
}

// secureHDFS returns the file system of uri and its root. It returns nil and "" if the file
// system is not HDFS, or if the cluster does not use Kerberos.
func (f *Files) secureHDFS(uri string) (*hdfsSystem, string, error) {
	if f.options.Hadoop == nil || !f.options.Hadoop.SecurityEnabled() {
		return nil, "", nil
	}
	found, err := f.resolve(uri)
	if err != nil {
		return nil, "", err
	}
	hdfs, ok := found.system.(*hdfsSystem)
	if !ok {
		return nil, "", nil
	}
	return hdfs, hdfs.root, nil
}

// tokenService returns the Service field of delegation tokens for the file system of root.
// Hadoop's clients use this field to find the token of a file system
// (SecurityUtil.buildDTServiceName, HAUtilClient.buildTokenServiceForLogicalUri).
func tokenService(ctx context.Context, hadoop *conf.Config, root string) (string, error) {
	u, err := url.Parse(root)
	if err != nil {
		return "", err
	}
	addresses, err := hadoop.NameNodes(root)
	if err != nil {
		return "", err
	}
	if _, ha := hadoop.Get("dfs.ha.namenodes." + u.Hostname()); ha && u.Port() == "" {
		return "ha-hdfs:" + u.Hostname(), nil
	}
	host, port, err := net.SplitHostPort(addresses[0])
	if err != nil {
		return "", err
	}
	byAddress, err := hadoop.Bool("hadoop.security.token.service.use_ip", true)
	if err != nil {
		return "", err
	}
	if !byAddress {
		return strings.ToLower(host) + ":" + port, nil
	}
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return "", err
	}
	for _, address := range found {
		if v4 := address.IP.To4(); v4 != nil {
			return net.JoinHostPort(v4.String(), port), nil
		}
	}
	return net.JoinHostPort(found[0].IP.String(), port), nil
}

// SetTokens replaces Options.Tokens. New connections to NameNodes use the new tokens. Open files
// remain usable.
func (f *Files) SetTokens(tokens *security.Credentials) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.options.Tokens = tokens
	for _, system := range f.systems {
		if hdfs, ok := system.(*hdfsSystem); ok {
			hdfs.useToken(tokens)
		}
	}
}

// useToken makes new connections use this file system's token in tokens. If tokens does not
// contain one, it does nothing.
func (h *hdfsSystem) useToken(tokens *security.Credentials) {
	if token, found := tokenOf(tokens, h.tokenService); found && h.tokenService != "" {
		h.token.Store(&token)
		h.namenode.SetToken(token)
	}
}

// tokenOf returns the token with the given service, and whether tokens contains one.
func tokenOf(tokens *security.Credentials, service string) (security.Token, bool) {
	for _, token := range tokens.Tokens() {
		if token.Kind == security.KindHDFS && token.Service == service {
			return token, true
		}
	}
	return security.Token{}, false
}

// explainToken adds the reason and a remedy to err if the NameNode has refused the token. It
// returns other errors unchanged.
func (h *hdfsSystem) explainToken(err error) error {
	token := h.token.Load()
	if token == nil || !errors.Is(err, ipc.InvalidToken) {
		return err
	}
	identifier, parsing := token.ParseIdentifier()
	if parsing != nil {
		return err
	}
	end := identifier.MaxDate.Format(time.RFC3339)
	if time.Now().Before(identifier.MaxDate) {
		return fmt.Errorf("the delegation token of %s was not renewed in time, or was cancelled (the ResourceManager renews it until %s, "+
			"and cancels it at the application's end): %w", h.root, end, err)
	}
	return fmt.Errorf("the delegation token of %s ended at %s, after its maximum lifetime (dfs.namenode.delegation.token.max-lifetime): "+
		"submit with --principal and --keytab if an application runs longer: %w", h.root, end, err)
}

// nameLookupTimeout limits the lookup of a NameNode's IP address by its host name.
const nameLookupTimeout = 10 * time.Second

// authenticate sets in client how to authenticate to the NameNodes of root. On a cluster with
// Kerberos, this is the token for root if o.Tokens contains one, else Kerberos. It returns the
// service of tokens for root if it has set a token, else "".
func (o Options) authenticate(root string, client *namenode.Options) (service string, err error) {
	if !o.Hadoop.SecurityEnabled() {
		return "", nil
	}
	client.Secure = true
	if o.Tokens != nil {
		ctx, cancel := context.WithTimeout(context.Background(), nameLookupTimeout)
		defer cancel()
		if service, err = tokenService(ctx, o.Hadoop, root); err != nil {
			return "", fmt.Errorf("%s: %w", root, err)
		}
		if token, found := tokenOf(o.Tokens, service); found {
			client.Token = token
			return service, nil
		}
	}
	if o.Kerberos == nil {
		reason := errors.New("the cluster asks for Kerberos, and there is no delegation token of it here: name the file system in kerberos.access.hadoopFileSystems when you submit")
		if o.Tokens == nil {
			reason = errors.New("the cluster asks for Kerberos, and this process has no ticket")
		}
		return "", fmt.Errorf("%s: %w", root, reason)
	}
	client.Kerberos = kerberos.ServiceOf(o.Kerberos, o.Hadoop, NameNodePrincipal)
	return "", nil
}

package kerberos

import (
	"context"
	"fmt"
	"net"
	"path"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
)

// hostPattern stands for the server's host name in a principal of Hadoop's
// configuration.
const hostPattern = "_HOST"

// Service is a kind of server, such as the NameNodes, to which a Client authenticates. All
// servers of the kind have the same principal in Hadoop's configuration, with _HOST for their
// host names.
type Service struct {
	Client *Client
	// Key is the configuration key whose value is Principal, such as
	// "dfs.namenode.kerberos.principal".
	Key string
	// Principal is the server's principal, such as "nn/_HOST@EXAMPLE.COM".
	Principal string
	// Pattern is the value of <Key>.pattern. If it is not "", the server's principal must match
	// this glob instead of Principal.
	Pattern string
}

// ServiceOf returns the service whose principal is the value of key in Hadoop's configuration.
func ServiceOf(client *Client, hadoop *conf.Config, key string) *Service {
	return &Service{Client: client, Key: key, Principal: hadoop.GetDefault(key, ""), Pattern: hadoop.GetDefault(key+".pattern", "")}
}

// Name returns the principal of the server on host, a name or an IP address.
func (s *Service) Name(host string) string {
	name, realm := splitPrincipal(s.Principal)
	if realm == "" {
		realm = s.Client.Realm()
	}
	return withHost(name, host) + "@" + realm
}

// Connect returns a context for a connection to the server at address, host:port, and the first
// token to send to the server. protocol/serverID is the principal that the server claims to
// have. Connect fails if the configuration does not allow that principal, because otherwise any
// service of the realm could impersonate this service.
func (s *Service) Connect(ctx context.Context, address, protocol, serverID string) (*Context, []byte, error) {
	advertised := protocol + "/" + serverID
	if err := s.check(ctx, address, advertised); err != nil {
		return nil, nil, err
	}
	if _, realm := splitPrincipal(s.Principal); realm != "" {
		advertised += "@" + realm
	}
	return s.Client.NewContext(ctx, advertised)
}

func (s *Service) check(ctx context.Context, address, advertised string) error {
	if s.Pattern != "" {
		pattern, _ := splitPrincipal(s.Pattern)
		if matches, err := path.Match(pattern, advertised); err != nil || !matches {
			return fmt.Errorf("the server %s says that it is %s, and %s.pattern is %s", address, advertised, s.Key, s.Pattern)
		}
		return nil
	}
	if s.Principal == "" {
		return fmt.Errorf("%s is not set, so it cannot be checked that the server %s is what it says, %s: set it as in the cluster's own configuration",
			s.Key, address, advertised)
	}
	configured, _ := splitPrincipal(s.Principal)
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if withHost(configured, host) == advertised {
		return nil
	}
	tried := []string{host}
	if strings.Contains(configured, hostPattern) {
		for _, name := range s.Client.canonicalNames(ctx, host) {
			if withHost(configured, name) == advertised {
				return nil
			}
			tried = append(tried, name)
		}
	}
	return fmt.Errorf("the server %s says that it is %s, and %s is %s (%s stands for %s)",
		address, advertised, s.Key, s.Principal, hostPattern, strings.Join(tried, " or "))
}

// withHost replaces _HOST in a principal's name with host.
func withHost(name, host string) string {
	return strings.ReplaceAll(name, hostPattern, strings.ToLower(strings.TrimSuffix(host, ".")))
}

// canonicalNames returns the names that DNS has for host, a name or an IP address: its canonical
// name and, unless rdns in krb5.conf is false, all names of its IP addresses. It returns nil if DNS
// has none, or if dns_canonicalize_hostname in krb5.conf is false.
func (c *Client) canonicalNames(ctx context.Context, host string) (names []string) {
	if !c.settings.canonicalize {
		return nil
	}
	if name, err := net.DefaultResolver.LookupCNAME(ctx, host); err == nil && net.ParseIP(host) == nil {
		names = append(names, name)
	}
	if !c.settings.reverse {
		return names
	}
	addresses, _ := net.DefaultResolver.LookupHost(ctx, host)
	for _, address := range addresses {
		others, _ := net.DefaultResolver.LookupAddr(ctx, address)
		names = append(names, others...)
	}
	return names
}

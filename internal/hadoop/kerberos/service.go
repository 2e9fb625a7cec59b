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

// Service is a kind of server, such as NameNodes, to which a Client authenticates. Hadoop's
// configuration names its principal.
type Service struct {
	Client *Client
	// Key is the key of the configuration that has the Principal, such as
	// "dfs.namenode.kerberos.principal".
	Key string
	// Principal is the server's principal, such as "nn/_HOST@EXAMPLE.COM".
	Principal string
	// Pattern is a glob that the server's principal must match instead of Principal;
	// "" for none (<Key>.pattern).
	Pattern string
}

// ServiceOf returns the service whose principal is the value of a key of Hadoop's
// configuration.
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

// Connect returns a context for a connection to the server at address, host:port, which
// says that its principal is protocol/serverID. It fails if the configuration does not
// allow that principal, because otherwise any service of the realm could pose as this one.
func (s *Service) Connect(ctx context.Context, address, protocol, serverID string) (*Context, []byte, error) {
	advertised := protocol + "/" + serverID
	if err := s.check(ctx, address, advertised); err != nil {
		return nil, nil, err
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
		for _, name := range canonicalNames(ctx, host) {
			if withHost(configured, name) == advertised {
				return nil
			}
			tried = append(tried, name)
		}
	}
	return fmt.Errorf("the server %s says that it is %s, and %s is %s (%s stands for %s)",
		address, advertised, s.Key, s.Principal, hostPattern, strings.Join(tried, " or "))
}

// withHost replaces _HOST in a principal's name.
func withHost(name, host string) string {
	return strings.ReplaceAll(name, hostPattern, strings.ToLower(strings.TrimSuffix(host, ".")))
}

// canonicalNames returns the names that DNS has for host: all names of an IP address, or
// the canonical name of a host name.
func canonicalNames(ctx context.Context, host string) []string {
	if net.ParseIP(host) != nil {
		names, _ := net.DefaultResolver.LookupAddr(ctx, host)
		return names
	}
	if name, err := net.DefaultResolver.LookupCNAME(ctx, host); err == nil {
		return []string{name}
	}
	return nil
}

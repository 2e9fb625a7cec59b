package conf

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// rmPorts are the default ports of the ResourceManager's addresses (yarn-default.xml).
var rmPorts = map[string]string{
	"yarn.resourcemanager.address":                  "8032",
	"yarn.resourcemanager.admin.address":            "8033",
	"yarn.resourcemanager.resource-tracker.address": "8031",
	"yarn.resourcemanager.scheduler.address":        "8030",
	"yarn.resourcemanager.webapp.address":           "8088",
	"yarn.resourcemanager.webapp.https.address":     "8090",
}

// defaultNameNodePort is the RPC port of a URI without a port (HdfsClientConfigKeys).
const defaultNameNodePort = "8020"

// HTTPSOnly reports whether yarn.http.policy is HTTPS_ONLY.
func (c *Config) HTTPSOnly() bool {
	policy, _ := c.Get("yarn.http.policy")
	return strings.EqualFold(policy, "HTTPS_ONLY")
}

// ResourceManagers returns the host:port addresses of one service of the
// ResourceManagers, in their configured order. addressKey names the service, such as
// "yarn.resourcemanager.scheduler.address".
//
// If yarn.resourcemanager.ha.enabled is true, there is one address for each id in
// yarn.resourcemanager.ha.rm-ids: the value of <addressKey>.<id>, or else
// yarn.resourcemanager.hostname.<id> with the default port. Otherwise there is one address:
// the value of addressKey, or else yarn.resourcemanager.hostname with the default port. If
// yarn.http.policy is HTTPS_ONLY, yarn.resourcemanager.webapp.https.address is read in
// place of yarn.resourcemanager.webapp.address. A wildcard address (0.0.0.0), at which a
// server can listen but to which a client cannot connect, is replaced by
// yarn.resourcemanager.hostname, or else localhost.
func (c *Config) ResourceManagers(addressKey string) ([]string, error) {
	if addressKey == "yarn.resourcemanager.webapp.address" && c.HTTPSOnly() {
		addressKey = "yarn.resourcemanager.webapp.https.address"
	}
	port, ok := rmPorts[addressKey]
	if !ok {
		return nil, fmt.Errorf("%s is not the key of a ResourceManager's address", addressKey)
	}
	ha, err := c.Bool("yarn.resourcemanager.ha.enabled", false)
	if err != nil {
		return nil, err
	}
	if !ha {
		address, err := c.resourceManager(addressKey, "", port)
		if err != nil {
			return nil, err
		}
		return []string{address}, nil
	}
	ids, err := c.Strings("yarn.resourcemanager.ha.rm-ids", nil)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("yarn.resourcemanager.ha.enabled is true (%s) but yarn.resourcemanager.ha.rm-ids is not set",
			c.Source("yarn.resourcemanager.ha.enabled"))
	}
	addresses := make([]string, 0, len(ids))
	for _, id := range ids {
		address, err := c.resourceManager(addressKey, "."+id, port)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}

// resourceManager returns the address of one ResourceManager. suffix is ".<id>" with high
// availability, else "".
func (c *Config) resourceManager(addressKey, suffix, port string) (string, error) {
	const hostnameKey = "yarn.resourcemanager.hostname"
	hostname, err := c.text(hostnameKey + suffix)
	if err != nil {
		return "", err
	}
	address, err := c.text(addressKey + suffix)
	if err != nil {
		return "", err
	}
	from := addressKey + suffix
	if address == "" {
		address, from = hostname, hostnameKey+suffix
	}
	if address == "" {
		return "", fmt.Errorf("no address of the ResourceManager %s: set %s%s or %s%s in yarn-site.xml",
			strings.TrimPrefix(suffix, "."), hostnameKey, suffix, addressKey, suffix)
	}
	host, port, err := splitHostPort(address, port)
	if err != nil {
		return "", fmt.Errorf("%w: %w", c.invalid(from, "a host:port address"), err)
	}
	if isWildcard(host) {
		host = "localhost"
		if hostname != "" && !isWildcard(hostname) {
			host = hostname
		}
	}
	return net.JoinHostPort(host, port), nil
}

// DefaultFS returns fs.defaultFS, such as "hdfs://cluster1" or "file:///". As in
// Hadoop, a value without a scheme is the host of an HDFS NameNode.
func (c *Config) DefaultFS() string {
	value, _ := c.Get("fs.defaultFS")
	switch {
	case value == "" || value == "local":
		return "file:///"
	case strings.HasPrefix(value, "/"):
		return "file://" + value
	case !strings.Contains(value, "://") && !strings.HasPrefix(value, "file:"):
		return "hdfs://" + value
	}
	return value
}

// NameNodes returns the host:port RPC addresses of the NameNodes of an hdfs:// URI,
// whose path is ignored. "" and a URI without a host, such as "hdfs:///data", stand
// for fs.defaultFS.
//
// A URI's host without a port is a name service if it is one of dfs.nameservices or
// if dfs.ha.namenodes.<host> is set. The name service's addresses are
// dfs.namenode.rpc-address.<host>.<id> for each id in dfs.ha.namenodes.<host>, or
// dfs.namenode.rpc-address.<host> if there are no ids. Any other host is that of the
// only NameNode; its port is the URI's, or else 8020.
func (c *Config) NameNodes(fsURI string) ([]string, error) {
	uri := fsURI
	if uri == "" {
		uri = c.DefaultFS()
	}
	u, err := url.Parse(uri)
	if err != nil {
		return nil, fmt.Errorf("file system URI: %w", err)
	}
	if u.Scheme == "hdfs" && u.Host == "" {
		uri = c.DefaultFS()
		if u, err = url.Parse(uri); err != nil {
			return nil, fmt.Errorf("fs.defaultFS (%s): %w", c.Source("fs.defaultFS"), err)
		}
	}
	if u.Scheme != "hdfs" || u.Host == "" {
		return nil, fmt.Errorf("%s is not in HDFS: no NameNode serves it (fs.defaultFS is %s, set in %s)",
			uri, c.DefaultFS(), c.Source("fs.defaultFS"))
	}
	if u.Port() == "" {
		isService, err := c.isNameService(u.Hostname())
		if err != nil {
			return nil, err
		}
		if isService {
			return c.nameService(u.Hostname())
		}
	}
	host, port, err := splitHostPort(u.Host, defaultNameNodePort)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", uri, err)
	}
	if isWildcard(host) {
		host = "localhost"
	}
	return []string{net.JoinHostPort(host, port)}, nil
}

func (c *Config) isNameService(name string) (bool, error) {
	if _, ok := c.Get("dfs.ha.namenodes." + name); ok {
		return true, nil
	}
	services, err := c.Strings("dfs.nameservices", nil)
	if err != nil {
		return false, err
	}
	for _, s := range services {
		if s == name {
			return true, nil
		}
	}
	return false, nil
}

func (c *Config) nameService(name string) ([]string, error) {
	keys := []string{"dfs.namenode.rpc-address." + name}
	ids, err := c.Strings("dfs.ha.namenodes."+name, nil)
	if err != nil {
		return nil, err
	}
	if len(ids) > 0 {
		keys = keys[:0]
		for _, id := range ids {
			keys = append(keys, "dfs.namenode.rpc-address."+name+"."+id)
		}
	}
	addresses := make([]string, 0, len(keys))
	for _, key := range keys {
		address, err := c.text(key)
		if err != nil {
			return nil, err
		}
		if address == "" {
			return nil, fmt.Errorf("no address of a NameNode of the name service %s: set %s in hdfs-site.xml", name, key)
		}
		host, port, err := splitHostPort(address, defaultNameNodePort)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", c.invalid(key, "a host:port address"), err)
		}
		if isWildcard(host) {
			host = "localhost"
		}
		addresses = append(addresses, net.JoinHostPort(host, port))
	}
	return addresses, nil
}

// SecurityEnabled reports whether hadoop.security.authentication is kerberos.
func (c *Config) SecurityEnabled() bool {
	value, _ := c.Get("hadoop.security.authentication")
	return strings.EqualFold(value, "kerberos")
}

// splitHostPort splits "host:port", "host" or "[v6]:port", alone or within a URI, as Hadoop's
// NetUtils does. defaultPort is the port of an address without a port.
func splitHostPort(address, defaultPort string) (host, port string, err error) {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address, _, _ = strings.Cut(rest, "/")
	}
	host, port = address, defaultPort
	if bare := strings.TrimSuffix(strings.TrimPrefix(address, "["), "]"); net.ParseIP(bare) != nil {
		host = bare
	} else if strings.Contains(address, ":") {
		if host, port, err = net.SplitHostPort(address); err != nil {
			return "", "", err
		}
	}
	if host == "" || strings.ContainsAny(host, " \t\r\n/${}") {
		return "", "", fmt.Errorf("%q is not a host name", host)
	}
	n, err := strconv.Atoi(port)
	if err != nil || n <= 0 || n > 65535 {
		return "", "", errors.New("the port must be a number from 1 to 65535")
	}
	return host, port, nil
}

// isWildcard reports whether host is a wildcard address, such as 0.0.0.0: a server can listen
// at it, but a client cannot connect to it.
func isWildcard(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsUnspecified()
}

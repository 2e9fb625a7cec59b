// Package conf reads Hadoop's XML configuration files (core-site.xml, hdfs-site.xml,
// yarn-site.xml) as Hadoop's class Configuration does: with includes, final parameters,
// variable expansion, deprecated names and built-in defaults. It also derives values that
// depend on several keys, such as the addresses of the ResourceManagers and NameNodes of
// a highly available cluster.
package conf

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// ErrNotConfigured means that no environment variable names a configuration directory.
var ErrNotConfigured = errors.New("no Hadoop configuration: set HADOOP_CONF_DIR to the directory that holds core-site.xml and yarn-site.xml")

// siteFiles are read in this order. A later file overrides an earlier file, except for final
// parameters. sslClient is read first, so that it overrides no other file: Hadoop reads it into
// a separate configuration (SSLFactory).
var siteFiles = []string{sslClient, "core-site.xml", "hdfs-site.xml", "yarn-site.xml"}

const (
	sslClient = "ssl-client.xml"
	sslKeys   = "ssl.client." // prefix of the keys of sslClient
)

// Config is a Hadoop configuration. It is immutable and safe for concurrent use.
type Config struct {
	explicit map[string]setting
	defaults map[string]setting
}

// setting is the value of a key, with its variables expanded.
type setting struct {
	value  string
	source string
	err    error // why value could not be expanded; value is then the unexpanded text
}

// Load reads core-site.xml, hdfs-site.xml, yarn-site.xml and ssl-client.xml in dir.
// At least one of core-site.xml and yarn-site.xml must exist; the other files may
// be missing. ssl-client.xml, which may contain passwords, is skipped if it cannot
// be read. Errors name the file and, if there is one, the line.
func Load(dir string) (*Config, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the Hadoop configuration directory: %w (set HADOOP_CONF_DIR to the directory that holds core-site.xml and yarn-site.xml)", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("the Hadoop configuration directory %s is not a directory (set HADOOP_CONF_DIR to the directory that holds core-site.xml and yarn-site.xml)", dir)
	}
	raw := newRawProperties()
	missing := map[string]bool{}
	for _, name := range siteFiles {
		path := filepath.Join(dir, name)
		err := parseFile(raw, path, readFile)
		if errors.Is(err, fs.ErrNotExist) && !existsAsLink(path) || errors.Is(err, fs.ErrPermission) && name == sslClient {
			missing[name] = true
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	if missing["core-site.xml"] && missing["yarn-site.xml"] {
		return nil, fmt.Errorf("%s holds neither core-site.xml nor yarn-site.xml: set HADOOP_CONF_DIR to the cluster's client configuration directory", dir)
	}
	return raw.resolve(os.LookupEnv, systemProperties()), nil
}

// existsAsLink reports whether path exists, even if it is a dangling link. Load treats a
// dangling link as an error, not as a missing file.
func existsAsLink(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// FromEnvironment loads the files in a directory: $HADOOP_CONF_DIR, or else $YARN_CONF_DIR, or
// else $HADOOP_HOME/etc/hadoop. overrides are values, by key, that replace those in the files.
// FromEnvironment fails with ErrNotConfigured if none of the three variables is set.
func FromEnvironment(overrides map[string]string) (*Config, error) {
	load := func(variable, dir string) (*Config, error) {
		c, err := Load(dir)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", variable, os.Getenv(variable), err)
		}
		return c.with(overrides), nil
	}
	for _, variable := range []string{"HADOOP_CONF_DIR", "YARN_CONF_DIR"} {
		if dir := os.Getenv(variable); dir != "" {
			return load(variable, dir)
		}
	}
	if home := os.Getenv("HADOOP_HOME"); home != "" {
		return load("HADOOP_HOME", filepath.Join(home, "etc", "hadoop"))
	}
	return nil, ErrNotConfigured
}

// with returns a copy of c with the values in overrides.
func (c *Config) with(overrides map[string]string) *Config {
	if len(overrides) == 0 {
		return c
	}
	explicit := maps.Clone(c.explicit)
	for key, value := range overrides {
		explicit[currentName(key)] = setting{value: value, source: "the settings of the application"}
	}
	return &Config{explicit: explicit, defaults: resolveDefaults(explicit, os.LookupEnv, systemProperties())}
}

// FromMap returns a configuration with the values that Map returned in another process. It does
// not expand variables, because Map returned expanded values. Built-in defaults and deprecated
// names apply as after Load.
func FromMap(values map[string]string) *Config {
	explicit := make(map[string]setting, len(values))
	for key, value := range values {
		explicit[currentName(key)] = setting{value: value, source: "the configuration shipped by the client"}
	}
	// If values has a key under its deprecated and its current name, the value of the current
	// name wins, in any order of iteration.
	for key, value := range values {
		if currentName(key) == key {
			explicit[key] = setting{value: value, source: "the configuration shipped by the client"}
		}
	}
	return &Config{explicit: explicit, defaults: resolveDefaults(explicit, os.LookupEnv, systemProperties())}
}

// lookup returns the setting of a key, or its built-in default.
func (c *Config) lookup(key string) (setting, bool) {
	key = currentName(key)
	if s, ok := c.explicit[key]; ok {
		return s, true
	}
	s, ok := c.defaults[key]
	return s, ok
}

// Map returns the expanded values of all explicitly set keys, for use in containers (see
// FromMap). It omits the keys of ssl-client.xml, because their values name local files or
// may be passwords.
func (c *Config) Map() map[string]string {
	m := make(map[string]string, len(c.explicit))
	for key, s := range c.explicit {
		if !strings.HasPrefix(key, sslKeys) {
			m[key] = s.value
		}
	}
	return m
}

// Source returns where the value of a key was set, such as "/etc/hadoop/conf/yarn-site.xml:12"
// or "yarn-default.xml (built in)"; "" if the key has no value.
func (c *Config) Source(key string) string {
	s, _ := c.lookup(key)
	return s.source
}

// systemProperties returns the Java system properties that Hadoop configurations use as
// variables and that make sense outside a JVM. As in Hadoop, a system property takes
// precedence over the configuration key of that name.
func systemProperties() map[string]string {
	p := map[string]string{"java.io.tmpdir": os.TempDir()}
	if u, err := user.Current(); err == nil {
		p["user.name"], p["user.home"] = u.Username, u.HomeDir
	} else if name := os.Getenv("USER"); name != "" {
		p["user.name"] = name
	}
	if wd, err := os.Getwd(); err == nil {
		p["user.dir"] = wd
	}
	return p
}

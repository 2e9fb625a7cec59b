// Package conf reads Hadoop's XML configuration (core-site.xml, hdfs-site.xml, yarn-site.xml) as Hadoop's
// own Configuration class does: includes, final parameters, variable expansion, deprecated names, built-in
// defaults. It also answers the questions that need several keys at once, such as where the
// ResourceManagers and NameNodes of a highly available cluster listen.
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

// ErrNotConfigured means that the environment names no configuration directory.
var ErrNotConfigured = errors.New("no Hadoop configuration: set HADOOP_CONF_DIR to the directory that holds core-site.xml and yarn-site.xml")

// siteFiles are read in this order; a later file overrides an earlier one except for its final parameters.
// sslClient comes first, as Hadoop keeps it apart (SSLFactory): it changes no other file's key.
var siteFiles = []string{sslClient, "core-site.xml", "hdfs-site.xml", "yarn-site.xml"}

const (
	sslClient = "ssl-client.xml"
	// sslKeys begins the keys of sslClient.
	sslKeys = "ssl.client."
)

// Config is one resolved configuration. It does not change after it was made and is safe for concurrent use.
type Config struct {
	explicit map[string]setting
	defaults map[string]setting
}

// setting is one key's value with its variables expanded.
type setting struct {
	value  string
	source string
	err    error // why the value could not be expanded; value is then the raw text
}

// Load reads core-site.xml, hdfs-site.xml, yarn-site.xml and ssl-client.xml of dir. Any of them may be missing,
// but core-site.xml and yarn-site.xml not both; ssl-client.xml, which may hold passwords, may be unreadable
// too. Errors name the file and, if there is one, the line.
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

// existsAsLink tells a dangling symbolic link, which is a mistake to report, from a file that is not there.
func existsAsLink(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// FromEnvironment loads the directory that HADOOP_CONF_DIR names, else the one YARN_CONF_DIR names, else
// $HADOOP_HOME/etc/hadoop, and sets the overrides over what is there. With none of the three set the error
// is ErrNotConfigured.
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

// with sets values over those of c, which does not change.
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

// FromMap makes a configuration of values as Map returned them in another process. The values are taken as
// they are: what was expanded where the configuration was loaded is not expanded again in the environment
// of a container. Built-in defaults and deprecated names apply as they do after Load.
func FromMap(values map[string]string) *Config {
	explicit := make(map[string]setting, len(values))
	for key, value := range values {
		explicit[currentName(key)] = setting{value: value, source: "the configuration shipped by the client"}
	}
	// A current name wins over a deprecated one, whatever order the map was walked in.
	for key, value := range values {
		if currentName(key) == key {
			explicit[key] = setting{value: value, source: "the configuration shipped by the client"}
		}
	}
	return &Config{explicit: explicit, defaults: resolveDefaults(explicit, os.LookupEnv, systemProperties())}
}

// lookup finds a key's setting, or its built-in default.
func (c *Config) lookup(key string) (setting, bool) {
	key = currentName(key)
	if s, ok := c.explicit[key]; ok {
		return s, true
	}
	s, ok := c.defaults[key]
	return s, ok
}

// Map returns a copy of every explicitly set key and its expanded value, without built-in defaults: what a
// client ships to its containers, for FromMap. The keys of ssl-client.xml stay here: they name files of this
// machine and may be passwords.
func (c *Config) Map() map[string]string {
	m := make(map[string]string, len(c.explicit))
	for key, s := range c.explicit {
		if !strings.HasPrefix(key, sslKeys) {
			m[key] = s.value
		}
	}
	return m
}

// Source tells where a key's value comes from: "/etc/hadoop/conf/yarn-site.xml:12", a default's origin such
// as "yarn-default.xml (built in)", or "" when the key has no value.
func (c *Config) Source(key string) string {
	s, _ := c.lookup(key)
	return s.source
}

// systemProperties are those of Java's system properties that configurations refer to and that mean
// something outside a JVM. As in Hadoop they take precedence over keys of the same name.
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

package config

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	// confDir is the variable that names a directory with a defaults file. It is
	// no setting.
	confDir = EnvironmentPrefix + "CONF_DIR"
	// siteDir holds the defaults of all users of a machine.
	siteDir      = "/etc/bobbin"
	defaultsName = "bobbin-defaults.conf"
)

// FromEnvironment loads the sources, with the environment of this process and
// the defaults file as further ones. The defaults file is
// $BOBBIN_CONF_DIR/bobbin-defaults.conf, ~/.bobbin/bobbin-defaults.conf or
// /etc/bobbin/bobbin-defaults.conf, the first that exists.
func FromEnvironment(sources Sources) (*Config, error) {
	defaults, err := findDefaults(siteDir)
	if err != nil {
		return nil, err
	}
	sources.Environ, sources.DefaultsFile = os.Environ(), defaults
	return Load(sources)
}

// findDefaults returns the path of the defaults file, "" if there is none.
func findDefaults(site string) (string, error) {
	var directories []string
	if named := os.Getenv(confDir); named != "" {
		if _, err := os.Stat(named); err != nil {
			return "", fmt.Errorf("%s, the directory of %s: %w", confDir, defaultsName, err)
		}
		directories = append(directories, named)
	}
	if home, err := os.UserHomeDir(); err == nil {
		directories = append(directories, filepath.Join(home, ".bobbin"))
	}
	for _, directory := range append(directories, site) {
		path := filepath.Join(directory, defaultsName)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", nil
}

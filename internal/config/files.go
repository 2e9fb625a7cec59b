package config

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// confDir is the environment variable with the path of the directory that contains the
	// defaults file. It is not a setting.
	confDir = EnvironmentPrefix + "CONF_DIR"
	// siteDir is the directory of the defaults file for all users of a machine.
	siteDir      = "/etc/bobbin"
	defaultsName = "bobbin-defaults.conf"
)

// FromEnvironment calls Load with sources, after it has set sources.Environ to this process's
// environment and sources.DefaultsFile to the path of the defaults file. This is the first
// existing file of $BOBBIN_CONF_DIR/bobbin-defaults.conf, ~/.bobbin/bobbin-defaults.conf and
// /etc/bobbin/bobbin-defaults.conf.
func FromEnvironment(sources Sources) (*Config, error) {
	defaults, err := findDefaults(siteDir)
	if err != nil {
		return nil, err
	}
	sources.Environ, sources.DefaultsFile = os.Environ(), defaults
	return Load(sources)
}

// findDefaults returns the path of the defaults file, or "" if none exists. The directory site
// is the last that it searches.
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

type property struct {
	key, value string
	line       int
}

// readProperties reads a file in the format of spark-defaults.conf: in each line, white space,
// '=' or ':' separates the key from the value. A line that begins with '#' is a comment.
func readProperties(path string) ([]property, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("properties file: %w", err)
	}
	defer file.Close()
	var properties []property
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		end := strings.IndexAny(line, " \t=:")
		if end <= 0 {
			return nil, fmt.Errorf("%s:%d: %q has no value: want \"key value\" or \"key=value\"", path, number, line)
		}
		value := strings.TrimLeft(line[end:], " \t")
		if strings.HasPrefix(value, "=") || strings.HasPrefix(value, ":") {
			value = value[1:]
		}
		properties = append(properties, property{key: line[:end], value: strings.TrimSpace(value), line: number})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("properties file %s: %w", path, err)
	}
	return properties, nil
}

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// processFlags are the common flags of the commands master and worker.
type processFlags struct {
	host       string
	workDir    string
	conf       []string
	properties string
}

// addProcess adds the flags to command c. name is "master" or "worker"; it is also the name of the
// default working directory.
func addProcess(c *cobra.Command, name string) *processFlags {
	f := &processFlags{}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.host, "host", "", "`HOST`: the name or address at which it listens and is reached (default: this machine's name)")
	flags.StringVar(&f.workDir, "work-dir", "", "`DIR`: where it keeps files (default: ~/.bobbin/"+name+")")
	flags.StringArrayVar(&f.conf, "conf", nil, "`KEY=VALUE`: any setting; may be repeated")
	flags.StringVar(&f.properties, "properties-file", "", "`FILE`: settings, one \"key value\" a line")
	return f
}

// load loads the settings, and sets the fields host and workDir to their defaults if the flags are
// not set.
func (f *processFlags) load(name string) (*config.Config, error) {
	values, err := confValues(f.conf)
	if err != nil {
		return nil, err
	}
	settings, err := config.FromEnvironment(config.Sources{Flags: values, PropertiesFile: f.properties})
	if err != nil {
		return nil, client.UsageError(err)
	}
	if f.host == "" {
		if f.host, err = os.Hostname(); err != nil {
			return nil, client.UsageError(fmt.Errorf("%w: set --host", err))
		}
	}
	if f.workDir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, client.UsageError(fmt.Errorf("%w: set --work-dir", err))
		}
		f.workDir = filepath.Join(home, ".bobbin", name)
	}
	return settings, nil
}

// checkPort fails if port is not between least and 65535. least is 0, or -1 if port -1 disables
// listening.
func checkPort(flag string, port, least int) error {
	if port < least || port > 65535 {
		return client.UsageError(fmt.Errorf("--%s %d: want %d to 65535", flag, port, least))
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
)

// settingFlags are the flags of submit, run and stream that set one setting each. Flags that
// spark-submit also has have the same names.
var settingFlags = []struct{ flag, key, value, usage string }{
	{"master", config.Master.Name(), "MASTER", "where to run: yarn (default), " + masterurl.Forms},
	{"deploy-mode", config.DeployMode.Name(), "MODE", "where the driver runs: cluster (default), client"},
	{"name", config.AppName.Name(), "NAME", "the application's name (default: the program's)"},
	{"queue", config.Queue.Name(), "QUEUE", "the queue to submit to"},
	{"num-executors", config.ExecutorInstances.Name(), "N", "how many executors to ask for"},
	{"executor-cores", config.ExecutorCores.Name(), "N", "cores of an executor: how many tasks it runs at once"},
	{"executor-memory", config.ExecutorMemory.Name(), "SIZE", "memory of an executor, as 512m or 2g"},
	{"driver-cores", config.DriverCores.Name(), "N", "cores of the driver"},
	{"driver-memory", config.DriverMemory.Name(), "SIZE", "memory of the driver"},
	{"files", config.Files.Name(), "FILES", "files for every container's working directory, with commas; file#name renames one"},
	{"archives", config.Archives.Name(), "FILES", "archives to unpack in every container's working directory"},
	{"principal", config.KerberosPrincipal.Name(), "PRINCIPAL", "who logs in to Kerberos with --keytab (default: the owner of kinit's ticket cache)"},
	{"keytab", config.KerberosKeytab.Name(), "FILE", "the file with the principal's keys"},
	{"proxy-user", config.ProxyUser.Name(), "USER", "the user to submit for, if the cluster permits it"},
	{"timeout", config.SubmitTimeout.Name(), "TIME", "kill the application when it takes longer, as 30m"},
	{"idempotency-key", config.IdempotencyKey.Name(), "KEY", "follow the application that was submitted with it, rather than start a second"},
}

// settingsFlags are the common parsed flags of submit, run and stream.
type settingsFlags struct {
	command     *cobra.Command
	conf        []string
	properties  string
	detach      bool
	logs        bool
	supervise   bool
	report      string                              // path of the HTML report; "" for none
	program     string                              // value of the flag --program
	fromJobFile map[string]config.ValueWithPosition // settings from the job file, by key
	verbose     bool
}

// addSettings adds to c the flags that submit, run and stream have in common.
func addSettings(c *cobra.Command) *settingsFlags {
	s := &settingsFlags{command: c}
	flags := c.Flags()
	flags.SortFlags = false
	for _, f := range settingFlags {
		// The back quotes mark the name of the value in the help.
		flags.String(f.flag, "", "`"+f.value+"`: "+f.usage)
	}
	flags.BoolVar(&s.detach, "detach", false, "print only the application's id on stdout and do not follow it, see yarn-submit wait")
	flags.BoolVar(&s.supervise, "supervise", false, "have a standalone cluster start the driver again when it fails or its worker is lost")
	flags.BoolVar(&s.logs, "logs", false, "print what driver and executors write while the application is followed, each line after its container's name")
	flags.StringVar(&s.report, "report", "", "`FILE`: write the application's pages to one HTML file at its end")
	flags.StringArrayVar(&s.conf, "conf", nil, "`KEY=VALUE`: any setting; may be repeated")
	flags.StringVar(&s.properties, "properties-file", "", "`FILE`: settings, one \"key value\" a line")
	flags.BoolVar(&s.verbose, "verbose", false, "print every setting with its source, except secrets, and what happens in detail")
	return s
}

// addProgram adds the flag --program: the path of the yarn-submit binary that the cluster runs.
func (s *settingsFlags) addProgram() {
	s.command.Flags().StringVar(&s.program, "program", "", "`FILE`: the build of yarn-submit for the cluster's nodes, if this one does not run there "+
		"(default: itself, or yarn-submit-linux-amd64 and the like beside it)")
}

// confValues parses the KEY=VALUE arguments of the flag --conf.
func confValues(entries []string) (map[string]string, error) {
	values := map[string]string{}
	for _, entry := range entries {
		key, value, ok := strings.Cut(entry, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, client.UsageError(fmt.Errorf("--conf %s: want key=value", config.Default().Redact("", entry)))
		}
		values[key] = value
	}
	return values, nil
}

func (s *settingsFlags) load(t terminal) (*config.Config, error) {
	values, err := confValues(s.conf)
	if err != nil {
		return nil, err
	}
	for _, f := range settingFlags {
		if flag := s.command.Flags().Lookup(f.flag); flag.Changed {
			values[f.key] = flag.Value.String()
		}
	}
	if s.supervise {
		values[config.Supervise.Name()] = "true"
	}
	if s.detach {
		values[config.WaitAppCompletion.Name()] = "false"
	}
	if key, given := values[config.IdempotencyKey.Name()]; given && key == "" {
		return nil, client.UsageError(errors.New("--idempotency-key is empty: is the variable set that it comes from?"))
	}
	if s.program != "" {
		values[config.Program.Name()] = s.program
	}
	settings, err := config.FromEnvironment(config.Sources{Flags: values, JobFile: s.fromJobFile, PropertiesFile: s.properties})
	if err != nil {
		return nil, client.UsageError(err)
	}
	if s.detach && config.ClientMode(settings) {
		return nil, client.UsageError(errors.New("--detach: in client mode the driver is this process, which cannot leave it: use --deploy-mode cluster"))
	}
	if s.report != "" {
		if s.report, err = checkReport(s.report, settings); err != nil {
			return nil, client.UsageError(err)
		}
	}
	if s.verbose {
		printSettings(t, settings)
	}
	return settings, nil
}

// printSettings prints every setting with its source. It hides secrets.
func printSettings(t terminal, settings *config.Config) {
	set := redacted(settings)
	for _, setting := range config.Settings() {
		if _, ok := set[setting.Key]; !ok {
			set[setting.Key] = setting.Default
		}
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		t.console.Print("%s=%s  (%s)", key, set[key], settings.Source(key))
	}
}

// redacted returns the settings that were set explicitly, by key. It hides secrets.
func redacted(settings *config.Config) map[string]string {
	set := settings.Map()
	for key, value := range set {
		set[key] = settings.Redact(key, value)
	}
	return set
}

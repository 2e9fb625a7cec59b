package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/command"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/streaming"
)

// streamFlags are the flags that stream has in addition to the flags of run.
type streamFlags struct {
	mapper, combiner, reducer string
	inputs                    []string
	output                    string
	define, environment       []string
	compress                  string
	overwrite                 bool
}

// propertyFlags are the flags of stream that set one property of Hadoop streaming each.
var propertyFlags = []struct{ flag, property, value, usage string }{
	{"reducers", streaming.PropertyReducers, "N", "how many reduce commands run, each of which writes a file; 0 for none (default: 1 with --reduce)"},
	{"separator", streaming.PropertySeparator, "TEXT", "what separates the fields of the map command's lines (default: a tab)"},
	{"key-fields", streaming.PropertyKeyFields, "N", "how many fields of such a line are its key (default: 1)"},
	{"sort", streaming.PropertySort, "OPTIONS", "how keys are sorted, as options of sort, such as -k2,2nr"},
	{"partition", streaming.PropertyPartition, "OPTIONS", "by which parts of the key lines are divided among reducers, such as -k1,1"},
}

func newStream(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "stream [flags] --map CMD [--combine CMD] [--reduce CMD] IN… OUT",
		Short: "Run commands on lines of files, as Hadoop Streaming does",
		Long: `Pass the lines of files through commands, as Hadoop Streaming does, without a
JVM. The map command reads lines on stdin; what it prints are lines with a key
and a value, separated by a tab. The reduce command reads them sorted by key. OUT
is a new directory for what it prints, or what the map command prints if there
is neither --reduce nor --reducers.

A command is a program with arguments, divided at spaces; quotes keep spaces,
and there is no shell. A program that is a file of this machine, named with a
relative path such as ./map.py, is shipped with it; others with --files.

Lines on stderr such as reporter:counter:GROUP,NAME,1 and reporter:status:TEXT
are for the job, others go to the logs. -D takes properties of Hadoop Streaming.

Exit status: that of the command if one failed with 1 to 125; otherwise as for
submit.`,
		Example: "  yarn-submit stream --map ./map.py --reduce ./sum.py --reducers 4 /logs /sums\n" +
			"  yarn-submit stream --map 'sed -n s/ERROR//p' --num-executors 4 /logs /errors",
	}
	s := &streamFlags{}
	flags := c.Flags()
	flags.StringVar(&s.mapper, "map", "", "`CMD`: reads lines of files, prints lines with a key and a value")
	flags.StringVar(&s.combiner, "combine", "", "`CMD`: merges what a map command has printed, sorted by key, before it is sent")
	flags.StringVar(&s.reducer, "reduce", "", "`CMD`: reads lines sorted by key, prints the result")
	flags.StringArrayVar(&s.inputs, "input", nil, "`IN`: a file or directory to read, instead of an argument; may be repeated")
	flags.StringVar(&s.output, "output", "", "`OUT`: the directory to write, instead of an argument")
	for _, f := range propertyFlags {
		flags.String(f.flag, "", "`"+f.value+"`: "+f.usage)
	}
	flags.StringArrayVarP(&s.define, "define", "D", nil, "`NAME=VALUE`: a property of Hadoop Streaming; may be repeated")
	flags.StringArrayVar(&s.environment, "env", nil, "`NAME=VALUE`: a variable of the commands' environment; may be repeated")
	flags.StringVar(&s.compress, "compress", "", "`NAME`: compress the output, such as gzip or zstd")
	flags.BoolVar(&s.overwrite, "overwrite", false, "replace OUT if it exists")
	f := &runFlags{retries: -1, stream: s}
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be submitted, and submit nothing")
	f.settingsFlags = addSettings(c)
	f.addProgram()
	f.json = addJSON(c)
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		w, err := f.runJob(t, args)
		if err != nil {
			return err
		}
		if f.dryRun {
			return w.printDryRun(t, *f.json)
		}
		return w.execute(c.Context(), t)
	}
	return c
}

// job returns the streaming job that the flags describe. args are the inputs; if --output is not
// set, the last argument is the output.
func (s *streamFlags) job(c *cobra.Command, args []string) (*streaming.Job, error) {
	job := &streaming.Job{Output: s.output, Properties: map[string]string{}, Compression: s.compress, Overwrite: s.overwrite}
	if job.Output == "" && len(args) > 0 {
		job.Output, args = args[len(args)-1], args[:len(args)-1]
	}
	job.Inputs = slices.Concat(s.inputs, args)
	for _, each := range []struct {
		flag, text string
		to         *[]string
	}{{"map", s.mapper, &job.Map}, {"combine", s.combiner, &job.Combine}, {"reduce", s.reducer, &job.Reduce}} {
		if !c.Flags().Changed(each.flag) {
			continue
		}
		words, err := streaming.SplitWords(each.text)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", each.flag, err)
		}
		*each.to = words
	}
	properties, err := pairs("-D", s.define)
	if err != nil {
		return nil, err
	}
	maps.Copy(job.Properties, properties)
	for _, f := range propertyFlags {
		if flag := c.Flags().Lookup(f.flag); flag.Changed {
			job.Properties[f.property] = flag.Value.String()
		}
	}
	job.SeparateKeys(c.Flags().Lookup("separator").Value.String())
	return job, job.Check()
}

// pairs parses the NAME=VALUE arguments of a flag. The parameter flag is the name of the flag.
func pairs(flag string, entries []string) (map[string]string, error) {
	values := map[string]string{}
	for _, entry := range entries {
		name, value, ok := strings.Cut(entry, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, fmt.Errorf("%s %s: want NAME=VALUE", flag, entry)
		}
		values[name] = value
	}
	return values, nil
}

// planStream sets w.plan to a plan with one unnamed step, which runs the streaming job.
func (w *runJob) planStream(args []string) error {
	s := w.flags.stream
	job, err := s.job(w.flags.command, args)
	if err != nil {
		return fmt.Errorf("%w; see yarn-submit stream --help", err)
	}
	environment, err := pairs("--env", s.environment)
	if err != nil {
		return err
	}
	for name := range environment {
		if strings.HasPrefix(name, config.EnvironmentPrefix) {
			return fmt.Errorf("--env %s: variables that begin with %s are set by yarn-submit: choose another name", name, config.EnvironmentPrefix)
		}
	}
	job.Name = job.Properties[streaming.PropertyName]
	if name := config.AppName.In(w.settings); name != "" {
		job.Name = name
	} else if job.Name == "" {
		job.Name = job.DefaultName()
	}
	if w.settings, err = w.settings.With(map[string]string{config.AppName.Name(): job.Name}); err != nil {
		return err
	}
	for _, words := range []*[]string{&job.Map, &job.Combine, &job.Reduce} {
		if len(*words) > 0 {
			if *words, w.settings, err = shipCommand(*words, w.settings); err != nil {
				return err
			}
		}
	}
	w.plan = &command.Plan{Steps: []command.Step{{Stream: job, Environment: environment, Tasks: make([]command.Task, 1), OwnDirectory: true}}}
	return nil
}

// warnOfProperties prints a warning about each Hadoop property that has no effect on the job.
func (w *runJob) warnOfProperties(t terminal) {
	for _, step := range w.plan.Steps {
		if step.Stream == nil {
			continue
		}
		for _, name := range step.Stream.Ignored() {
			t.console.Warn("the property %s has no effect, but commands find it in their environment", name)
		}
	}
}

// Package config defines every setting of bobbin: its key, default, kind of value and meaning.
// It also reads the values from all their sources.
//
// If several sources set a key, the first of this list takes precedence: command line flags;
// the environment (BOBBIN_EXECUTOR_MEMORY for executor.memory); the job file; the properties
// file; the defaults file of the user or the machine. The default applies if no source sets the
// key. Load checks all values, so that reading a setting cannot fail.
//
// To add a setting, define a variable in the settings_*.go file for its purpose. If no group in
// markdown.go has a prefix of its key, add the prefix to a group.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// keyDelimiter separates the parts of nested keys for viper. It must not occur in keys. With
// viper's default delimiter, the dot, viper could not store values for both locality.wait and
// locality.wait.node.
const keyDelimiter = "::"

// Config is a set of checked values of settings. It is immutable and safe for concurrent use.
type Config struct {
	values    map[string]string // the values that were set, by key, without surrounding space
	rawValues map[string]string // the values that were set, by key, with surrounding space
	source    map[string]string // where each value was set, by key, see Config.Source
}

// Sources are the sources from which Load reads values. A source with the zero value is
// skipped.
type Sources struct {
	Flags          map[string]string            // values from the command line, by key
	Environ        []string                     // environment variables, as returned by os.Environ
	JobFile        map[string]ValueWithPosition // values from a job file, by key
	PropertiesFile string                       // path of a file with lines "key value", "key=value" or "key: value"
	DefaultsFile   string                       // path of a file in the same format; all other sources override its values
}

// ValueWithPosition is a value in a file, with its position, such as "job.yaml:3:10".
type ValueWithPosition struct{ Value, Place string }

// Load reads the values from all sources and checks them. Its error contains an error for each
// invalid value, with the key, value and source.
func Load(sources Sources) (*Config, error) {
	var problems []error
	store := viper.NewWithOptions(viper.KeyDelimiter(keyDelimiter))
	source := map[string]string{}

	file := map[string]any{}
	for _, path := range []string{sources.DefaultsFile, sources.PropertiesFile} {
		if path == "" {
			continue
		}
		properties, err := readProperties(path)
		if err != nil {
			return nil, err
		}
		for _, property := range properties {
			at := fmt.Sprintf("%s:%d", path, property.line)
			if err := checkKey(property.key); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", at, err))
				continue
			}
			file[property.key] = property.value
			source[property.key] = at
		}
	}
	for _, key := range slices.Sorted(maps.Keys(sources.JobFile)) {
		if err := checkKey(key); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", sources.JobFile[key].Place, err))
			continue
		}
		file[key] = sources.JobFile[key].Value
		source[key] = sources.JobFile[key].Place
	}
	if err := store.MergeConfigMap(file); err != nil {
		return nil, fmt.Errorf("the settings of files: %w", err)
	}
	fromEnvironment, unknown := environmentValues(sources.Environ)
	problems = append(problems, unknown...)
	for key, variable := range fromEnvironment {
		store.Set(key, variable.value)
		source[key] = "environment variable " + variable.name
	}
	for _, key := range slices.Sorted(maps.Keys(sources.Flags)) {
		if err := checkKey(key); err != nil {
			problems = append(problems, err)
			continue
		}
		store.Set(key, sources.Flags[key])
		source[key] = "the command line"
	}

	values := map[string]string{}
	for key := range source {
		values[key] = store.GetString(key)
	}
	config, err := checked(values, source)
	if err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return config, nil
}

// submission is the result of Source for values that the submitting process passed without
// their sources, or that With has set.
const submission = "the submission"

// FromMap returns the configuration with the values that Map returned in another process. A
// container receives the values of the process that submitted the application.
func FromMap(values map[string]string) (*Config, error) { return FromSubmission(values, nil) }

// FromSubmission returns the configuration with the values that Map returned in another
// process. origins is the result of Origins in that process: the source of each value.
func FromSubmission(values, origins map[string]string) (*Config, error) {
	source := make(map[string]string, len(values))
	for key := range values {
		if err := checkKey(key); err != nil {
			return nil, err
		}
		source[key] = cmp.Or(origins[key], submission)
	}
	return checked(values, source)
}

// Default returns the configuration in which nothing is set.
func Default() *Config {
	config, err := checked(nil, nil)
	if err != nil {
		panic("config: a default does not pass its own check: " + err.Error())
	}
	return config
}

// Map returns the values that were set, by key, without defaults. FromMap reverses it.
func (c *Config) Map() map[string]string { return maps.Clone(c.rawValues) }

// Origins returns the result of Source for each key that was set.
func (c *Config) Origins() map[string]string { return maps.Clone(c.source) }

// IsSet reports whether any source sets the key.
func (c *Config) IsSet(key string) bool {
	_, ok := c.rawValues[key]
	return ok
}

// Source returns where a key was set: "the command line", an environment variable, a file and
// line, or "the submission" for a value that a submission passed on without its source. It
// returns "default" if the key was not set.
func (c *Config) Source(key string) string {
	if source, ok := c.source[key]; ok {
		return source
	}
	return "default"
}

// value returns a setting's value, or the setting's default if it is not set.
func (c *Config) value(setting *Setting) string {
	if value, ok := c.values[setting.Key]; ok {
		return value
	}
	return setting.Default
}

// With returns a copy of c in which the given values, by key, are set too. They override the
// values of the same keys in c. With checks the copy as Load does. The sources of other values
// do not change.
func (c *Config) With(values map[string]string) (*Config, error) {
	set, source := map[string]string{}, map[string]string{}
	maps.Copy(set, c.rawValues)
	maps.Copy(source, c.source)
	for key, value := range values {
		if err := checkKey(key); err != nil {
			return nil, err
		}
		set[key], source[key] = value, submission
	}
	return checked(set, source)
}

// Without returns a copy of c in which key is not set. It checks the copy as Load does.
func (c *Config) Without(key string) (*Config, error) {
	set, source := maps.Clone(c.rawValues), maps.Clone(c.source)
	delete(set, key)
	delete(source, key)
	return checked(set, source)
}

func checked(set, source map[string]string) (*Config, error) {
	config := &Config{
		values:    make(map[string]string, len(set)),
		rawValues: maps.Clone(set),
		source:    source,
	}
	for key, value := range set {
		config.values[key] = strings.TrimSpace(value)
	}
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if err := checkValue(key, config.values[key]); err != nil {
			problems = append(problems, fmt.Errorf("%s=%q (from %s): %w", key, config.Redact(key, config.values[key]), config.Source(key), err))
		}
	}
	if len(problems) == 0 {
		for _, check := range registry.rules {
			problems = append(problems, check(config))
		}
	}
	return config, errors.Join(problems...)
}

// checkValue checks the value of a known key: the key of a setting, or a key in a registered
// family.
func checkValue(key, value string) error {
	if setting, ok := registry.byKey[key]; ok {
		return setting.check(value)
	}
	if family, name, ok := prefixOf(key); ok && family.check != nil {
		return family.check(name, value)
	}
	return nil
}

type variable struct{ name, value string }

// environmentValues returns the settings in an environment, by key, and an error for each
// unknown variable that begins with EnvironmentPrefix. It skips the variable that confDir names
// and the variables that begin with LaunchPrefix, because they are not settings.
// TRACEPARENT sets otlp.traceParent.
func environmentValues(environ []string) (map[string]variable, []error) {
	found := map[string]variable{}
	var problems []error
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		// The W3C standard of TRACEPARENT requires that invalid values are ignored.
		if _, set := found[traceParentKey]; name == traceParentVariable && !set && traceParent.MatchString(value) {
			found[traceParentKey] = variable{name: name, value: value}
		}
		if !ok || !strings.HasPrefix(name, EnvironmentPrefix) || strings.HasPrefix(name, LaunchPrefix) || name == confDir {
			continue
		}
		setting, ok := registry.byVariable[name]
		if !ok {
			problems = append(problems, fmt.Errorf("unknown environment variable %s%s", name,
				didYouMean(name, slices.Collect(maps.Keys(registry.byVariable)))))
			continue
		}
		found[setting.Key] = variable{name: name, value: value}
	}
	return found, problems
}

func checkKey(key string) error {
	if _, ok := registry.byKey[key]; ok {
		return nil
	}
	if _, _, ok := prefixOf(key); ok {
		return nil
	}
	if known := strings.TrimPrefix(key, "spark."); known != key && checkKey(known) == nil {
		return fmt.Errorf("unknown key %q: bobbin's keys have no \"spark.\" in front, write %q", key, known)
	}
	return fmt.Errorf("unknown key %q%s", key, didYouMean(key, slices.Collect(maps.Keys(registry.byKey))))
}

// describe returns a setting's key, value and source, for error messages.
func describe[T any](c *Config, key Key[T]) string {
	return fmt.Sprintf("%s=%s (from %s)", key.Name(), c.value(key.setting), c.Source(key.Name()))
}

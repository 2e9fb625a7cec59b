package conf

import (
	"fmt"
	"strings"
)

// maxSubstitutions is Hadoop's limit of substitutions in a value
// (Configuration.substituteVars).
const maxSubstitutions = 20

// expander replaces variables, ${…}, in values.
type expander struct {
	env    func(string) (string, bool)
	system map[string]string
	raw    func(key string) (string, bool)
}

// expand replaces the variables in value. It replaces innermost variables first, from left to
// right, so that a variable's name can contain variables. The name env.X stands for the
// environment variable X (env.X-y means y if X is unset, env.X:-y means y if X is unset or
// empty). Any other name stands for a system property. If there is no such environment variable
// or property, the name stands for a configuration key. As in Hadoop, expansion ends at the
// first variable without a value and leaves it unchanged. If a variable's value contains the
// variable itself, expand returns value unchanged.
func (x *expander) expand(value string) (string, error) {
	result := value
	for range maxSubstitutions {
		start, end, ok := findVariable(result)
		if !ok {
			return result, nil
		}
		reference := result[start:end]
		replacement, ok := x.variable(reference[2 : len(reference)-1])
		if !ok {
			return result, nil
		}
		if strings.Contains(replacement, reference) {
			return value, nil
		}
		result = result[:start] + replacement + result[end:]
	}
	return value, fmt.Errorf("expanding its variables takes %d substitutions or more, Hadoop's limit (do they refer to each other?)", maxSubstitutions)
}

// findVariable finds the first ${name} whose name has no brace, dollar sign or space.
func findVariable(s string) (start, end int, ok bool) {
	start = -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '$':
			start = -1
			if i+1 < len(s) && s[i+1] == '{' {
				start = i
				i++
			}
		case ' ':
			start = -1
		case '}':
			if start >= 0 && i > start+2 {
				return start, i + 1, true
			}
			start = -1
		}
	}
	return 0, 0, false
}

func (x *expander) variable(name string) (string, bool) {
	if v, ok := strings.CutPrefix(name, "env."); ok && v != "" {
		if value, ok := x.environment(v); ok {
			return value, true
		}
	} else if value, ok := x.system[name]; ok {
		return value, true
	}
	return x.raw(name)
}

// environment returns the value for v, which is "X", "X-default" or "X:-default": the value of
// the environment variable X, or else the default.
func (x *expander) environment(v string) (string, bool) {
	for i := range len(v) {
		switch {
		case v[i] == '-':
			if value, ok := x.env(v[:i]); ok {
				return value, true
			}
			return v[i+1:], true
		case v[i] == ':' && strings.HasPrefix(v[i+1:], "-"):
			if value, _ := x.env(v[:i]); value != "" {
				return value, true
			}
			return v[i+2:], true
		}
	}
	return x.env(v)
}

// resolve expands the variables in all properties and returns the configuration.
func (r *rawProperties) resolve(env func(string) (string, bool), system map[string]string) *Config {
	explicit := make(map[string]setting, len(r.values))
	x := &expander{env: env, system: system, raw: func(key string) (string, bool) {
		key = currentName(key)
		if p, ok := r.values[key]; ok {
			return p.value, true
		}
		d, ok := builtin[key]
		return d.value, ok
	}}
	for key, p := range r.values {
		value, err := x.expand(p.value)
		explicit[key] = setting{value: value, source: p.source, err: err}
	}
	return &Config{explicit: explicit, defaults: expandDefaults(x)}
}

// resolveDefaults expands the variables in the built-in defaults. explicit are the properties
// of the files, with their variables already expanded.
func resolveDefaults(explicit map[string]setting, env func(string) (string, bool), system map[string]string) map[string]setting {
	return expandDefaults(&expander{env: env, system: system, raw: func(key string) (string, bool) {
		key = currentName(key)
		if s, ok := explicit[key]; ok {
			return s.value, true
		}
		d, ok := builtin[key]
		return d.value, ok
	}})
}

func expandDefaults(x *expander) map[string]setting {
	defaults := make(map[string]setting, len(builtin))
	for key, d := range builtin {
		value, err := x.expand(d.value)
		defaults[key] = setting{value: value, source: d.file + " (built in)", err: err}
	}
	return defaults
}

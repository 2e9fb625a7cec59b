package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	// EnvironmentPrefix begins the names of the environment variables that set settings.
	EnvironmentPrefix = "BOBBIN_"
	// LaunchPrefix begins the names of the environment variables by which a process that starts
	// another one passes its role and identity (package launch). They are not settings.
	LaunchPrefix = "BOBBIN_LAUNCH_"
)

// Setting describes one setting: its key, default, kind of value and meaning.
type Setting struct {
	Key     string
	Default string // as users write it; "" if there is no default
	Unit    string // kind of value, such as "size", "time" or "number"
	Meaning string // one or two sentences, in Markdown
	check   func(string) error
}

// Variable returns the name of the environment variable that sets s, such as
// BOBBIN_EXECUTOR_MEMORY_OVERHEAD for executor.memoryOverhead.
func (s *Setting) Variable() string {
	var name strings.Builder
	name.WriteString(EnvironmentPrefix)
	for i, r := range s.Key {
		switch {
		case r == '.':
			name.WriteByte('_')
		case unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(s.Key[i-1])):
			name.WriteByte('_')
			name.WriteRune(r)
		default:
			name.WriteRune(unicode.ToUpper(r))
		}
	}
	return name.String()
}

// Key is the key of a setting whose values are of type T.
type Key[T any] struct {
	setting *Setting
	parse   func(string) (T, error)
}

// Name returns the key, such as "executor.memory".
func (k Key[T]) Name() string { return k.setting.Key }

// In returns the value of the setting in c, or the default if the setting is not set.
func (k Key[T]) In(c *Config) T {
	value, err := k.parse(c.value(k.setting))
	if err != nil {
		panic("config: " + k.setting.Key + " passed its check and does not parse: " + err.Error())
	}
	return value
}

// Prefix is a family of keys. Each key is the family's prefix followed by a name that the user
// chooses: executorEnv.TZ consists of the prefix "executorEnv." and the name TZ.
type Prefix struct {
	Key     string // the prefix, with the dot at its end
	Meaning string
	check   func(name, value string) error // checks a key and its value, see checkedPrefix; nil if any value is valid
}

// In returns the values of the family's keys that are set in c, by the name after the prefix.
func (p Prefix) In(c *Config) map[string]string {
	found := map[string]string{}
	for key, value := range c.rawValues {
		if name, ok := strings.CutPrefix(key, p.Key); ok && name != "" {
			found[name] = value
		}
	}
	return found
}

// registry contains all settings, prefixes and rules. They are added by define, prefix and
// addRule, which the initializers of this package's variables call.
var registry = struct {
	settings   []*Setting
	prefixes   []Prefix
	rules      []func(*Config) error
	byKey      map[string]*Setting
	byVariable map[string]*Setting
}{byKey: map[string]*Setting{}, byVariable: map[string]*Setting{}}

// Settings returns all settings, sorted by key.
func Settings() []*Setting {
	sorted := slices.Clone(registry.settings)
	slices.SortFunc(sorted, func(a, b *Setting) int { return strings.Compare(a.Key, b.Key) })
	return sorted
}

// Prefixes returns all families of keys, sorted by prefix.
func Prefixes() []Prefix {
	sorted := slices.Clone(registry.prefixes)
	slices.SortFunc(sorted, func(a, b Prefix) int { return strings.Compare(a.Key, b.Key) })
	return sorted
}

func define[T any](key, def, unit, meaning string, parse func(string) (T, error)) Key[T] {
	setting := &Setting{Key: key, Default: def, Unit: unit, Meaning: meaning}
	setting.check = func(value string) error {
		_, err := parse(value)
		return err
	}
	if registry.byKey[key] != nil || registry.byVariable[setting.Variable()] != nil {
		panic("config: defined twice: " + key)
	}
	registry.settings = append(registry.settings, setting)
	registry.byKey[key] = setting
	registry.byVariable[setting.Variable()] = setting
	return Key[T]{setting: setting, parse: parse}
}

func prefix(key, meaning string) Prefix { return checkedPrefix(key, meaning, nil) }

// checkedPrefix defines a family of keys. The function check checks one key and its value. It
// is called with the name after the prefix, and the value.
func checkedPrefix(key, meaning string, check func(name, value string) error) Prefix {
	p := Prefix{Key: key, Meaning: meaning, check: check}
	registry.prefixes = append(registry.prefixes, p)
	return p
}

// prefixOf returns the family of a key and the name after the prefix. ok is false if the key
// belongs to no family.
func prefixOf(key string) (family Prefix, name string, ok bool) {
	for _, p := range registry.prefixes {
		if name, ok := strings.CutPrefix(key, p.Key); ok && name != "" {
			return p, name, true
		}
	}
	return Prefix{}, "", false
}

// addRule registers a check that involves several settings. The check runs only if each single value
// is valid.
func addRule(check func(*Config) error) struct{} {
	registry.rules = append(registry.rules, check)
	return struct{}{}
}

func text(key, def, meaning string) Key[string] {
	return define(key, def, "text", meaning, func(s string) (string, error) { return s, nil })
}

func list(key, def, meaning string) Key[[]string] {
	return define(key, def, "list", meaning, func(s string) ([]string, error) {
		var items []string
		for item := range strings.SplitSeq(s, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		return items, nil
	})
}

// number defines a setting whose value is an integer of at least minimum. If the setting is not
// set, its value is def, or 0 if def is "".
func number(key, def, meaning string, minimum int) Key[int] {
	return define(key, def, "number", meaning, func(s string) (int, error) {
		if s == "" && def == "" {
			return 0, nil
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			return 0, fmt.Errorf("want a whole number")
		}
		if n < minimum {
			return 0, fmt.Errorf("want %d or more", minimum)
		}
		return n, nil
	})
}

func boolean(key, def, meaning string) Key[bool] {
	return define(key, def, "true or false", meaning, func(s string) (bool, error) {
		switch s {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, fmt.Errorf("want true or false")
	})
}

func size(key, def, meaning string) Key[Size] {
	return define(key, def, "size", meaning, ParseSize)
}

// optionalSize defines a size without a default. Its value is nil if it is not set.
func optionalSize(key, meaning string) Key[*Size] {
	return define(key, "", "size", meaning, func(s string) (*Size, error) {
		if s == "" {
			return nil, nil
		}
		size, err := ParseSize(s)
		return &size, err
	})
}

// factor defines a setting whose value is a decimal number of at least 0.
func factor(key, def, meaning string) Key[float64] {
	return define(key, def, "number", meaning, func(s string) (float64, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 0) || math.IsInf(f, 0) {
			return 0, fmt.Errorf("want a number such as 0.1, of 0 or more")
		}
		return f, nil
	})
}

func duration(key, def, meaning string) Key[time.Duration] {
	return define(key, def, "time", meaning, ParseDuration)
}

// interval defines a setting for the interval of a periodic action. It must be at least 1 ms,
// because a shorter interval would occupy a core permanently.
func interval(key, def, meaning string) Key[time.Duration] {
	return define(key, def, "time", meaning, func(s string) (time.Duration, error) {
		d, err := ParseDuration(s)
		if err == nil && d < time.Millisecond {
			err = fmt.Errorf("want 1ms or more")
		}
		return d, err
	})
}

// optionalDuration defines a duration without a default. Its value is nil if it is not set.
func optionalDuration(key, meaning string) Key[*time.Duration] {
	return define(key, "", "time", meaning, func(s string) (*time.Duration, error) {
		if s == "" {
			return nil, nil
		}
		d, err := ParseDuration(s)
		return &d, err
	})
}

func oneOf(key, def, meaning string, allowed ...string) Key[string] {
	return define(key, def, strings.Join(allowed, ", "), meaning, func(s string) (string, error) {
		if slices.Contains(allowed, s) {
			return s, nil
		}
		return "", fmt.Errorf("want one of %s%s", strings.Join(allowed, ", "), didYouMean(s, allowed))
	})
}

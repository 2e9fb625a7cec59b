package conf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Get returns the value of a key or its built-in default, and reports whether the key has a
// value or a default. Get expands variables and removes surrounding white space. If expansion
// fails, for example because variables refer to each other in a circle, Get returns the
// unexpanded value.
func (c *Config) Get(key string) (string, bool) {
	s, ok := c.lookup(key)
	return strings.TrimSpace(s.value), ok
}

// GetDefault is like Get, but returns def if the key has no value and no default.
func (c *Config) GetDefault(key, def string) string {
	if value, ok := c.Get(key); ok {
		return value
	}
	return def
}

// text returns the value of a key or its built-in default; "" if the key has neither. It fails
// if the value could not be expanded.
func (c *Config) text(key string) (string, error) {
	s, _ := c.lookup(key)
	if s.err != nil {
		return "", fmt.Errorf("%s = %q (set in %s): %w", key, s.value, s.source, s.err)
	}
	return strings.TrimSpace(s.value), nil
}

// invalid returns an error that states the value of key, where it was set, and what the value
// should be. want describes a valid value, such as "a whole number".
func (c *Config) invalid(key, want string) error {
	s, _ := c.lookup(key)
	return fmt.Errorf("%s = %q (set in %s) is not %s", key, strings.TrimSpace(s.value), s.source, want)
}

// Bool returns a key's value, which must be "true" or "false" in upper or lower case. It
// returns def if the key has no value.
func (c *Config) Bool(key string, def bool) (bool, error) {
	value, err := c.text(key)
	switch {
	case err != nil:
		return def, err
	case value == "":
		return def, nil
	case strings.EqualFold(value, "true"):
		return true, nil
	case strings.EqualFold(value, "false"):
		return false, nil
	}
	return def, c.invalid(key, "true or false")
}

// Int returns a key's value, which must be an integer, decimal or hexadecimal with the
// prefix 0x. It returns def if the key has no value.
func (c *Config) Int(key string, def int) (int, error) {
	value, err := c.text(key)
	if err != nil {
		return def, err
	}
	if value == "" {
		return def, nil
	}
	digits, negative := strings.CutPrefix(value, "-")
	base := 10
	if hex, ok := cutPrefixFold(digits, "0x"); ok {
		digits, base = hex, 16
	}
	if negative {
		digits = "-" + digits
	}
	n, err := strconv.ParseInt(digits, base, strconv.IntSize)
	if err != nil {
		return def, c.invalid(key, "a whole number")
	}
	return int(n), nil
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

// durationSuffixes are the suffixes in Hadoop's Configuration. "s" is last because "ns", "us"
// and "ms" end with it, too.
var durationSuffixes = []struct {
	suffix string
	unit   time.Duration
}{
	{"ns", time.Nanosecond},
	{"us", time.Microsecond},
	{"ms", time.Millisecond},
	{"m", time.Minute},
	{"h", time.Hour},
	{"d", 24 * time.Hour},
	{"s", time.Second},
}

// Duration returns a key's value, which must be an integer with a suffix ns, us, ms, s, m,
// h or d, in upper or lower case. An integer without a suffix is in the given unit.
// Duration returns def if the key has no value.
func (c *Config) Duration(key string, def, unit time.Duration) (time.Duration, error) {
	value, err := c.text(key)
	if err != nil {
		return def, err
	}
	if value == "" {
		return def, nil
	}
	digits := strings.ToLower(value)
	for _, s := range durationSuffixes {
		if rest, ok := strings.CutSuffix(digits, s.suffix); ok {
			digits, unit = strings.TrimSpace(rest), s.unit
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return def, c.invalid(key, "a time such as 30s, 5m or 1000")
	}
	if n > math.MaxInt64/int64(unit) || n < math.MinInt64/int64(unit) {
		return def, c.invalid(key, "a time of less than 292 years")
	}
	return time.Duration(n) * unit, nil
}

// Strings returns a key's value, which is a list separated by commas or line breaks. It
// trims the elements and omits empty ones. It returns def if the key has no value.
func (c *Config) Strings(key string, def []string) ([]string, error) {
	value, err := c.text(key)
	if err != nil {
		return def, err
	}
	if value == "" {
		return def, nil
	}
	var list []string
	for _, element := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '\n' }) {
		if element = strings.TrimSpace(element); element != "" {
			list = append(list, element)
		}
	}
	return list, nil
}

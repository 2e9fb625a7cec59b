package config

import (
	"fmt"
	"regexp"
)

// Redacted is shown in place of a value that may be a secret.
const Redacted = "*********(redacted)"

var redaction = define("redaction.regex", `(?i)secret|passw(or)?d|token|credential|(access|api|private)[._-]?key`, "text",
	"A regular expression (of Go). Where a setting or a variable of the environment is shown, by `--verbose`, by `--dry-run` and in errors, its value "+
		"is `"+Redacted+"` if the expression matches the key or the value. Its default matches more than Spark's.",
	func(s string) (*regexp.Regexp, error) {
		pattern, err := regexp.Compile(s)
		if err != nil {
			return nil, fmt.Errorf("want a regular expression: %w", err)
		}
		return pattern, nil
	})

// Redact returns the value of a setting, or of a variable of an environment, as
// it may be shown: Redacted if redaction.regex matches the key or the value.
// redaction.regex itself, which is no secret, is returned as it is.
func (c *Config) Redact(key, value string) string {
	pattern, err := redaction.parse(c.value(redaction.setting))
	if err != nil { // c is still being checked
		pattern = regexp.MustCompile(redaction.setting.Default)
	}
	if value == "" || key == redaction.Name() || !pattern.MatchString(key) && !pattern.MatchString(value) {
		return value
	}
	return Redacted
}

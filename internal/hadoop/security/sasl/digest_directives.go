package sasl

import (
	"errors"
	"fmt"
	"strings"
)

// directive is one name=value of a DIGEST-MD5 message; the value is unquoted.
type directive struct{ name, value string }

// parseDirectives splits a DIGEST-MD5 message: a list separated by commas; white space
// and empty elements are ignored (RFC 2831, 7.1).
func parseDirectives(message []byte) ([]directive, error) {
	var directives []directive
	rest := string(message)
	for {
		rest = strings.TrimLeft(rest, " \t\r\n,")
		if rest == "" {
			return directives, nil
		}
		name, after, found := strings.Cut(rest, "=")
		name = strings.TrimRight(name, " \t\r\n")
		if !found || name == "" || strings.ContainsAny(name, "\", \t\r\n") {
			return nil, errors.New("malformed directive: name=value is expected")
		}
		value, tail, err := parseValue(strings.TrimLeft(after, " \t\r\n"))
		if err != nil {
			return nil, fmt.Errorf("directive %q: %w", name, err)
		}
		directives = append(directives, directive{strings.ToLower(name), value})
		tail = strings.TrimLeft(tail, " \t\r\n")
		if tail != "" && tail[0] != ',' {
			return nil, fmt.Errorf("directive %q: a comma is missing after its value", name)
		}
		rest = tail
	}
}

// parseValue parses the token or quoted string at the start of s, and returns it and the rest
// of s.
func parseValue(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ", \t\r\n")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], nil
		case '\\':
			i++
			if i == len(s) {
				return "", "", errors.New("the quoted value ends in a backslash")
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", errors.New("the quoted value does not end")
}

// quote returns s as a quoted string.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// uniqueDirectives contains the values of directives that must not occur twice, by name.
type uniqueDirectives map[string]string

func (o uniqueDirectives) set(d directive) error {
	if _, again := o[d.name]; again {
		return fmt.Errorf("directive %q comes twice", d.name)
	}
	o[d.name] = d.value
	return nil
}

// splitList splits a value that is a list separated by commas.
func splitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
}

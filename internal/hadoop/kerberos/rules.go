package kerberos

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Rules map principals to user names (hadoop.security.auth_to_local).
type Rules struct {
	realm string // default realm
	rules []rule
}

// rule is a rule of the form RULE:[components:format](filter)s/from/to/g/L, or DEFAULT if
// components is 0.
type rule struct {
	components int
	format     string // $0 stands for the realm, and $1, $2 … for the components
	filter     *regexp.Regexp
	from       *regexp.Regexp // nil if the rule replaces nothing
	to         string
	all        bool // replace all matches
	lower      bool // change the result to lower case
}

// ruleForm matches the first rule of a text and captures its parts.
var ruleForm = regexp.MustCompile(`^\s*(?:(DEFAULT)|RULE:\[(\d*):([^\]]*)\](?:\(([^)]*)\))?(?:s/([^/]*)/([^/]*)/(g)?)?(/L)?)`)

// ParseRules parses the value of hadoop.security.auth_to_local; "" means DEFAULT. realm
// is the default realm.
func ParseRules(text, realm string) (*Rules, error) {
	if strings.TrimSpace(text) == "" {
		text = "DEFAULT"
	}
	r := &Rules{realm: realm}
	for rest := text; strings.TrimSpace(rest) != ""; {
		match := ruleForm.FindStringSubmatch(rest)
		if match == nil {
			return nil, fmt.Errorf("hadoop.security.auth_to_local: %q is no rule", strings.TrimSpace(rest))
		}
		rest = rest[len(match[0]):]
		if match[1] != "" {
			r.rules = append(r.rules, rule{})
			continue
		}
		one := rule{format: match[3], to: javaReplacement(match[6]), all: match[7] != "", lower: match[8] != ""}
		var err error
		if one.components, err = strconv.Atoi(match[2]); err != nil || one.components == 0 {
			return nil, fmt.Errorf("hadoop.security.auth_to_local: %q does not say for how many components it is", match[0])
		}
		if match[4] != "" {
			one.filter, err = regexp.Compile("^(?:" + match[4] + ")$")
		}
		if err == nil && match[5] != "" {
			one.from, err = regexp.Compile(match[5])
		}
		if err != nil {
			return nil, fmt.Errorf("hadoop.security.auth_to_local: %q: %w", match[0], err)
		}
		r.rules = append(r.rules, one)
	}
	return r, nil
}

// javaReplacement converts Java's $1 to Go's ${1}.
func javaReplacement(text string) string {
	return regexp.MustCompile(`\$(\d)`).ReplaceAllString(text, "$${$1}")
}

// User returns the user name for a principal. It fails if no rule applies.
func (r *Rules) User(principal string) (string, error) {
	name, realm := splitPrincipal(principal)
	parts := strings.Split(name, "/")
	for _, rule := range r.rules {
		user, applies := rule.apply(parts, realm, r.realm)
		if !applies {
			continue
		}
		if strings.ContainsAny(user, "/@") {
			return "", fmt.Errorf("hadoop.security.auth_to_local: the rules make %q of %s, which is no user name", user, principal)
		}
		return user, nil
	}
	return "", fmt.Errorf("no rule of hadoop.security.auth_to_local applies to %s: with DEFAULT, only principals of the realm %s have a user name", principal, r.realm)
}

func (r rule) apply(parts []string, realm, defaultRealm string) (user string, applies bool) {
	if r.components == 0 {
		return parts[0], realm == defaultRealm
	}
	if len(parts) != r.components {
		return "", false
	}
	user = regexp.MustCompile(`\$(\d)`).ReplaceAllStringFunc(r.format, func(reference string) string {
		switch n := int(reference[1] - '0'); {
		case n == 0:
			return realm
		case n <= len(parts):
			return parts[n-1]
		}
		return ""
	})
	if r.filter != nil && !r.filter.MatchString(user) {
		return "", false
	}
	if r.from != nil {
		if r.all {
			user = r.from.ReplaceAllString(user, r.to)
		} else if at := r.from.FindStringSubmatchIndex(user); at != nil {
			user = user[:at[0]] + string(r.from.ExpandString(nil, r.to, user, at)) + user[at[1]:]
		}
	}
	if r.lower {
		user = strings.ToLower(user)
	}
	return user, true
}

package worker

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

// reference matches {{NAME}} in the value of an application's variable. This reference is
// replaced by the value that the variable NAME had before the application's variables were
// added, as on a NodeManager.
var reference = regexp.MustCompile(`\{\{[A-Za-z_][A-Za-z0-9_]*\}\}`)

// environment maps the names of a process's environment variables to their values.
type environment map[string]string

// inherited returns the worker's environment without settings, credentials, and variables that
// are only for the worker's process.
func inherited(environ []string) environment {
	e := environment{}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		switch {
		case !ok || name == "":
		case strings.HasPrefix(name, config.EnvironmentPrefix):
			// The variables of this case may contain the cluster's secret.
		case name == security.TokenFileVariable, name == "NOTIFY_SOCKET", name == "GOMAXPROCS", name == "GOMEMLIMIT":
		default:
			e[name] = value
		}
	}
	return e
}

// add sets variables. In their values, {{NAME}} is replaced by the value that the variable
// NAME had before the call, <LOG_DIR> by logs, and <CPS> by ":".
func (e environment) add(variables map[string]string, logs string) {
	before := maps.Clone(e)
	marks := strings.NewReplacer("<LOG_DIR>", logs, "<CPS>", string(os.PathListSeparator))
	for name, value := range variables {
		e[name] = reference.ReplaceAllStringFunc(marks.Replace(value), func(reference string) string {
			return before[reference[2:len(reference)-2]]
		})
	}
}

// list returns the environment as sorted NAME=value strings.
func (e environment) list() []string {
	entries := make([]string, 0, len(e))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		entries = append(entries, name+"="+e[name])
	}
	return entries
}

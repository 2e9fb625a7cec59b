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

// reference is {{NAME}}, which the values of an application's variables may
// contain. It is replaced by the value that the variable NAME has on the worker, as
// NodeManagers do.
var reference = regexp.MustCompile(`\{\{[A-Za-z_][A-Za-z0-9_]*\}\}`)

// environment is the environment of a process, by name.
type environment map[string]string

// inherited returns the worker's own environment without its settings and credentials.
func inherited(environ []string) environment {
	e := environment{}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		switch {
		case !ok || name == "":
		case strings.HasPrefix(name, config.EnvironmentPrefix):
			// These are settings, perhaps with the cluster's secret.
		case name == security.TokenFileVariable, name == "NOTIFY_SOCKET", name == "GOMAXPROCS", name == "GOMEMLIMIT":
		default:
			e[name] = value
		}
	}
	return e
}

// add sets variables. In their values {{NAME}} is replaced by a variable that is set
// already, <LOG_DIR> by logs and <CPS> by ":".
func (e environment) add(variables map[string]string, logs string) {
	before := maps.Clone(e)
	marks := strings.NewReplacer("<LOG_DIR>", logs, "<CPS>", string(os.PathListSeparator))
	for name, value := range variables {
		e[name] = reference.ReplaceAllStringFunc(marks.Replace(value), func(reference string) string {
			return before[reference[2:len(reference)-2]]
		})
	}
}

// list returns the environment in the form of os/exec, sorted.
func (e environment) list() []string {
	entries := make([]string, 0, len(e))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		entries = append(entries, name+"="+e[name])
	}
	return entries
}

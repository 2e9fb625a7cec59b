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

// reference is what the node replaces in the variables of an application by its
// own: {{NAME}}, as a NodeManager does.
var reference = regexp.MustCompile(`\{\{[A-Za-z_][A-Za-z0-9_]*\}\}`)

// environment makes a process's: what the worker has itself but its settings and
// credentials, then what the application wants, then what bobbin says.
type environment map[string]string

// inherited is the worker's own environment without what is the worker's alone.
func inherited(environ []string) environment {
	e := environment{}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		switch {
		case !ok || name == "":
		case strings.HasPrefix(name, config.EnvironmentPrefix):
			// Settings and, perhaps, the cluster's secret.
		case name == security.TokenFileVariable, name == "NOTIFY_SOCKET", name == "GOMAXPROCS", name == "GOMEMLIMIT":
		default:
			e[name] = value
		}
	}
	return e
}

// add sets variables in which {{NAME}} stands for one that is set already,
// <LOG_DIR> for logs and <CPS> for ":".
func (e environment) add(variables map[string]string, logs string) {
	before := maps.Clone(e)
	marks := strings.NewReplacer("<LOG_DIR>", logs, "<CPS>", string(os.PathListSeparator))
	for name, value := range variables {
		e[name] = reference.ReplaceAllStringFunc(marks.Replace(value), func(reference string) string {
			return before[reference[2:len(reference)-2]]
		})
	}
}

// list is the environment as processes take it, in order.
func (e environment) list() []string {
	entries := make([]string, 0, len(e))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		entries = append(entries, name+"="+e[name])
	}
	return entries
}

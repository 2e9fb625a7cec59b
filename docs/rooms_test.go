package docs_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/bobbin-yarn/bobbin"

// rooms reads the table of rooms (groups of packages) in architecture.md. It returns the
// patterns of the packages in each row. The patterns are relative to the module.
func rooms(t *testing.T) [][]string {
	t.Helper()
	page, err := os.ReadFile("architecture.md")
	require.NoError(t, err)
	var table [][]string
	row := regexp.MustCompile(`(?m)^\| \d+ \| ([^|]+) \|`)
	for _, match := range row.FindAllStringSubmatch(string(page), -1) {
		table = append(table, strings.Fields(strings.ReplaceAll(match[1], "`", "")))
	}
	require.GreaterOrEqual(t, len(table), 10, "the table of rooms in architecture.md was not found")
	return table
}

// roomOf returns the index of the row that contains the package at path: the row with the
// longest matching pattern. It returns -1 if no pattern matches.
func roomOf(table [][]string, path string) int {
	best, length := -1, -1
	for i, patterns := range table {
		for _, pattern := range patterns {
			beginning, tree := strings.CutSuffix(pattern, "/...")
			matches := path == beginning || tree && strings.HasPrefix(path, beginning+"/")
			if matches && len(beginning) > length {
				best, length = i, len(beginning)
			}
		}
	}
	return best
}

// below reports whether path is tree or a package below tree.
func below(path, tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }

// packages returns the imports of each package of the module, without the imports of tests and
// of packages outside the module. Paths are relative to the module; the root is ".".
func packages(t *testing.T) map[string][]string {
	t.Helper()
	list := exec.Command("go", "list", "-tags", "integration", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	list.Dir, list.Stderr = "..", os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	relative := func(path string) (string, bool) {
		if path == module {
			return ".", true
		}
		return strings.CutPrefix(path, module+"/")
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		path, _ := relative(fields[0])
		found[path] = nil
		for _, imported := range fields[1:] {
			if name, ours := relative(imported); ours {
				found[path] = append(found[path], name)
			}
		}
	}
	return found
}

func TestImportsGoDown(t *testing.T) {
	table := rooms(t)
	for path, imports := range packages(t) {
		from := roomOf(table, path)
		require.NotEqual(t, -1, from, "%s is in no room of architecture.md", path)
		for _, imported := range imports {
			if to := roomOf(table, imported); to < from {
				t.Errorf("%s (room %d) imports %s (room %d), which is above it", path, from+1, imported, to+1)
			}
		}
	}
}

func TestRoomsImportOnlyAllowedPackages(t *testing.T) {
	imports := packages(t)
	for _, rule := range []struct {
		tree    string
		allowed func(imported string) bool
	}{
		{"scheduler", func(imported string) bool { return below(imported, "scheduler") }},
		{"internal/stage", func(imported string) bool { return below(imported, "internal/stage") }},
		{"internal/hadoop", func(imported string) bool { return below(imported, "internal/hadoop") }},
		{"client", func(imported string) bool { return !below(imported, "standalone") }},
		{"driver", func(imported string) bool {
			return !slices.ContainsFunc([]string{"am", "yarnrest", "internal/hadoop"}, func(tree string) bool { return below(imported, tree) })
		}},
	} {
		for path := range imports {
			if !below(path, rule.tree) {
				continue
			}
			for imported := range reachable(imports, path) {
				if !rule.allowed(imported) {
					t.Errorf("%s imports %s, directly or through another package", path, imported)
				}
			}
		}
	}
}

// reachable returns the packages that the package at path imports, directly or indirectly.
func reachable(imports map[string][]string, path string) map[string]bool {
	found := map[string]bool{}
	for pending := slices.Clone(imports[path]); len(pending) > 0; {
		next := pending[0]
		pending = pending[1:]
		if !found[next] {
			found[next] = true
			pending = append(pending, imports[next]...)
		}
	}
	return found
}

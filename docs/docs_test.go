// Package docs_test checks the documentation against the code: links, names, make targets,
// error messages, example programs, and the table of rooms (groups of packages) in
// docs/architecture.md.
package docs_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documents returns the text of each page for users and developers, by the page's path relative
// to this directory.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"../README.md", "../CONTRIBUTING.md", "*.md", "design/*.md"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			page, err := os.ReadFile(path)
			require.NoError(t, err)
			pages[path] = string(page)
		}
	}
	return pages
}

func TestPagesAreShort(t *testing.T) {
	pages := documents(t)
	assert.LessOrEqual(t, strings.Count(pages["../README.md"], "\n"), 120, "README.md is one page")
	assert.LessOrEqual(t, strings.Count(pages["architecture.md"], "\n"), 200, "details belong into docs/design")
}

func TestLinksLeadToFiles(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for path, page := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(page, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(path), match[1]))
			assert.NoError(t, err, path)
		}
	}
}

func TestMakeTargetsExist(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	targets := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(string(makefile), -1) {
		targets[match[1]] = true
	}
	named := regexp.MustCompile("(?:`|^    |&& |\\(|with-engine )make ([a-z-]+)")
	for path, page := range documents(t) {
		for line := range strings.Lines(page) {
			for _, match := range named.FindAllStringSubmatch(line, -1) {
				assert.True(t, targets[match[1]], "%s: make %s", path, match[1])
			}
		}
	}
}

// TestProgramsBuild builds the first Go program in each page as if it were in examples.
func TestProgramsBuild(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	for _, path := range []string{"../README.md", "datasets.md"} {
		_, program, found := strings.Cut(documents(t)[path], "```go\n")
		require.True(t, found, path)
		program, _, found = strings.Cut(program, "```")
		require.True(t, found, path)

		source := filepath.Join(t.TempDir(), "main.go")
		require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
		overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "examples/readme/main.go"): source}})
		require.NoError(t, err)
		replacement := filepath.Join(t.TempDir(), "overlay.json")
		require.NoError(t, os.WriteFile(replacement, overlay, 0o600))
		build := exec.Command("go", "build", "-overlay", replacement, "-o", os.DevNull, "./examples/readme")
		build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0") // as make build, whose compiled packages it can use
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s: %s", path, out)
	}
}

// TestMessagesOfTroubleshootingExist checks that the messages in troubleshooting.md exist in
// the source. An ellipsis in a message stands for any text, so the test searches for the parts
// between ellipses.
func TestMessagesOfTroubleshootingExist(t *testing.T) {
	var source strings.Builder
	for _, path := range sources(t) {
		if !strings.HasSuffix(path, "_test.go") {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			source.Write(text)
		}
	}
	// In the source, a message may be a concatenation of strings, its quotes are escaped, and
	// formatting verbs stand in the place of ellipses.
	code := regexp.MustCompile(`" ?\+\s+"`).ReplaceAllString(source.String(), "")
	code = strings.ReplaceAll(code, `\"`, `"`)
	code = regexp.MustCompile(`%(\[\d\])?[a-z0-9]+`).ReplaceAllString(code, "…")
	row := regexp.MustCompile("(?m)^\\| `([^|]+)` \\|")
	messages := row.FindAllStringSubmatch(documents(t)["troubleshooting.md"], -1)
	require.NotEmpty(t, messages)
	for _, message := range messages {
		for part := range strings.SplitSeq(message[1], "…") {
			if part = strings.Trim(part, ` "`); len(part) > 3 {
				assert.True(t, strings.Contains(code, part), "no source has %q, a part of %q", part, message[1])
			}
		}
	}
}

// sources returns the paths of the module's Go files.
func sources(t *testing.T) []string {
	t.Helper()
	var paths []string
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			paths = append(paths, path)
		}
		return err
	}))
	return paths
}

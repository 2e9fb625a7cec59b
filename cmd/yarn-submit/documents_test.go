package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// commandLines returns the arguments of each yarn-submit command line in the code blocks of a page.
// For a line that begins with --conf, it returns a submit command with this flag.
func commandLines(page string) [][]string {
	start := regexp.MustCompile(`(?:^|[\s(/])yarn-submit `)
	var lines [][]string
	block := ""
	for line := range strings.Lines(page) {
		text, indented := strings.CutPrefix(line, "    ")
		if fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			if block == "" {
				block = "in " + fence
			} else {
				block = ""
			}
			continue
		}
		if block == "" && !indented || block != "" && block != "in sh" {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(text), "--conf ") {
			text = "yarn-submit submit " + strings.TrimSpace(text) + " ./app"
		}
		if at := start.FindStringIndex(text); at != nil {
			lines = append(lines, shellWords(text[at[1]:]))
		}
	}
	return lines
}

// shellWords splits a command line into words as a shell does. It stops at a pipe, a semicolon, an
// ampersand, a closing parenthesis or a comment.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inWord = r, true
		case quote == 0 && (r == ' ' || r == '\n'):
			end()
		case quote == 0 && (strings.ContainsRune("|;&)", r) || r == '#' && !inWord):
			end()
			return words
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	end()
	return words
}

// TestCommandLinesOfDocumentsParse checks the flags, arguments and settings of all command lines in
// the documents. It does not run the commands.
func TestCommandLinesOfDocumentsParse(t *testing.T) {
	documents := []string{"../../README.md", "../../CONTRIBUTING.md", "../../examples/ci/README.md"}
	guides, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	checked := 0
	for _, path := range append(documents, guides...) {
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, args := range commandLines(string(page)) {
			assert.NoError(t, parses(args), "%s: yarn-submit %s", path, strings.Join(args, " "))
			checked++
		}
	}
	require.Greater(t, checked, 30, "command lines were found")
	require.Error(t, parses([]string{"submit", "--num-executor", "2", "./app"}))
	require.Error(t, parses([]string{"submit", "--conf", "executor.memroy=2g", "./app"}))
}

// parses parses a command line and loads its settings, without running the command.
func parses(args []string) error {
	root := newRoot(terminal{stdout: io.Discard, console: client.NewConsole(io.Discard)})
	for _, c := range root.Commands() {
		for _, c := range append(c.Commands(), c) {
			c.RunE = func(c *cobra.Command, _ []string) error { return loads(c) }
		}
	}
	root.SetArgs(args)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	return root.Execute()
}

// loads checks the settings that the flags of a command set.
func loads(c *cobra.Command) error {
	values := map[string]string{}
	if entries, err := c.Flags().GetStringArray("conf"); err == nil {
		if values, err = confValues(entries); err != nil {
			return err
		}
	}
	for _, f := range settingFlags {
		if flag := c.Flags().Lookup(f.flag); flag != nil && flag.Changed {
			values[f.key] = flag.Value.String()
		}
	}
	_, err := config.Load(config.Sources{Flags: values})
	return err
}

package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
)

// TestHelpFitsATerminal checks the line lengths in the help of every command.
func TestHelpFitsATerminal(t *testing.T) {
	var names []string
	for _, c := range newRoot(terminal{console: client.NewConsole(nil)}).Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	require.Contains(t, names, "submit")
	for _, name := range append(names, "") {
		args := strings.Fields(name + " --help")
		code, said, _ := run(args...)
		require.Equal(t, 0, code, name)
		for line := range strings.Lines(said) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 90, line)
			flag, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
			if words := strings.Fields(flag); len(words) == 2 && strings.HasPrefix(flag, "--") {
				require.NotContains(t, line, words[1]+": ", "the value's name comes once")
			}
		}
	}
}

// TestHelpNamesEveryCommand checks that commandGroups contains every command.
func TestHelpNamesEveryCommand(t *testing.T) {
	root := newRoot(terminal{console: client.NewConsole(nil)})
	root.InitDefaultHelpCmd()
	grouped := map[string]bool{}
	for _, group := range commandGroups {
		for _, name := range group.names {
			grouped[name] = true
		}
	}
	for _, c := range root.Commands() {
		require.True(t, c.Hidden || grouped[c.Name()], c.Name())
	}
	_, said, _ := run("--help")
	require.Regexp(t, `(?m)^  submit +Run a program`, said)
}

func TestTable(t *testing.T) {
	long := "  " + strings.Repeat("x", helpColumn)
	require.Equal(t, "  a    one two\n       three\n"+long+"\n       four\n  bcd\n",
		table([][2]string{{"  a", "one two three"}, {long, "four"}, {"  bcd", ""}}, 15))
}

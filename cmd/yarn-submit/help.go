package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// commandGroups are the groups of commands in the help. Commands in no group come last.
var commandGroups = []struct {
	title string
	names []string
}{
	{"Applications", []string{"submit", "run", "stream", "wait", "status", "list", "logs", "history", "report", "kill", "profile", "metrics-sd"}},
	{"Clusters without Hadoop", []string{"master", "worker", "decommission"}},
	{"Others", []string{"fs", "doctor", "completion", "help", "version"}},
}

const (
	// helpWidth is the width of the help in columns if the output is not a terminal. maxHelpWidth
	// is the maximum width on a terminal.
	helpWidth, maxHelpWidth = 80, 100
	// helpColumn is the maximum width of the left column, before the explanations.
	helpColumn = 30
)

// columns returns the width in columns of the help on w.
func columns(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return helpWidth
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= helpColumn+20 {
		return helpWidth
	}
	return min(width, maxHelpWidth)
}

// usage returns a function that prints the usage of a command.
func usage(t terminal) func(c *cobra.Command) error {
	return func(c *cobra.Command) error {
		var b strings.Builder
		width := columns(t.stdout)
		if c.HasParent() {
			fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
			if c.HasAvailableSubCommands() {
				fmt.Fprintf(&b, "\nCommands:\n%s", table(rowsOf(c.Commands()), width))
			}
		} else {
			fmt.Fprintf(&b, "Usage:\n  %s COMMAND [flags] [argument…]\n%s", c.Name(), commandsText(c, width))
		}
		if c.HasExample() {
			fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
		}
		if c.HasAvailableLocalFlags() {
			fmt.Fprintf(&b, "\nFlags:\n%s", flagsText(c.LocalFlags(), width))
		}
		if !c.HasParent() {
			fmt.Fprintf(&b, "\n%s COMMAND --help describes one command.\n", c.Name())
		}
		_, err := io.WriteString(c.OutOrStderr(), b.String())
		return err
	}
}

func commandsText(root *cobra.Command, width int) string {
	var b strings.Builder
	for _, group := range commandGroups {
		var rows [][2]string
		for _, name := range group.names {
			at := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
			if at >= 0 {
				rows = append(rows, [2]string{"  " + name, root.Commands()[at].Short})
			}
		}
		fmt.Fprintf(&b, "\n%s:\n%s", group.title, table(rows, width))
	}
	return b.String()
}

// rowsOf returns a row of the help table for each command.
func rowsOf(commands []*cobra.Command) [][2]string {
	var rows [][2]string
	for _, c := range commands {
		rows = append(rows, [2]string{"  " + c.Name(), c.Short})
	}
	return rows
}

// flagsText returns a table of flags with their explanations.
func flagsText(flags *pflag.FlagSet, width int) string {
	var rows [][2]string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name, text := flagUsage(f)
		left := "      --" + f.Name
		if f.Shorthand != "" {
			left = "  -" + f.Shorthand + ", --" + f.Name
		}
		if name != "" {
			left += " " + name
		}
		rows = append(rows, [2]string{left, text})
	})
	return table(rows, width)
}

// flagUsage splits the usage text of a flag, "`NAME`: meaning", into the name of the value ("" if
// there is none) and the meaning.
func flagUsage(f *pflag.Flag) (name, text string) {
	name, text = pflag.UnquoteUsage(f)
	return name, strings.TrimPrefix(text, name+": ")
}

// table formats rows with aligned explanations, wrapped at width columns.
func table(rows [][2]string, width int) string {
	left := 0
	for _, row := range rows {
		if n := utf8.RuneCountInString(row[0]); n <= helpColumn {
			left = max(left, n)
		}
	}
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(row[0])
		at := utf8.RuneCountInString(row[0])
		if at > left {
			b.WriteString("\n")
			at = 0
		}
		b.WriteString(strings.Repeat(" ", left-at))
		used := left
		for i, word := range strings.Fields(row[1]) {
			n := utf8.RuneCountInString(word)
			switch {
			case i == 0:
				b.WriteString("  ")
				used += 2
			case used+1+n > width:
				b.WriteString("\n" + strings.Repeat(" ", left+2))
				used = left + 2
			default:
				b.WriteString(" ")
				used++
			}
			b.WriteString(word)
			used += n
		}
		b.WriteString("\n")
	}
	return b.String()
}

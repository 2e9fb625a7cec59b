package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/bobbin-yarn/bobbin/client"
)

// newMan returns the hidden command that writes the manual pages. Builds of packages run it.
func newMan() *cobra.Command {
	c := &cobra.Command{
		Use:    "man directory",
		Short:  "Write the manual pages of yarn-submit into a directory",
		Hidden: true,
		Args:   exactArgs("directory"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return client.UsageError(fmt.Errorf("the directory of the manual pages: %w", err))
		}
		root := c.Root()
		root.DisableAutoGenTag = true // omit the date, so that builds are reproducible
		for _, command := range append(root.Commands(), root) {
			if command.Hidden || command.Name() == "help" {
				continue
			}
			if err := writePage(command, args[0]); err != nil {
				return client.UsageError(fmt.Errorf("writing the manual pages: %w", err))
			}
		}
		return nil
	}
	return c
}

// writePage writes the manual page of a command to a file in the directory.
func writePage(c *cobra.Command, directory string) error {
	var page bytes.Buffer
	if err := doc.GenMan(c, &doc.GenManHeader{Section: "1", Source: "bobbin", Manual: "bobbin"}, &page); err != nil {
		return err
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	return os.WriteFile(filepath.Join(directory, name), readableFlags(page.Bytes()), 0o644)
}

// manualFlag matches the lines about one flag in a generated manual page: the flag with its
// default, and the name of the flag's value before the explanation, such as "\fB--tail\fP=0" and
// "\t\fBN\fR: only the last N lines".
var manualFlag = regexp.MustCompile(`(?m)(?:^\.PP\n)?^(\\fB-.*\\fP)(?:=.*|\[=.*\])\n\t(?:\\fB(.+?)\\fR: )?`)

// readableFlags replaces the lines that manualFlag matches by the form that users type, such as
// "--tail N".
func readableFlags(page []byte) []byte {
	return manualFlag.ReplaceAll(page, []byte(".TP\n$1 \\fI$2\\fP\n"))
}

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/bobbin-yarn/bobbin/client"
)

// newMan writes the manual, for those who package yarn-submit.
func newMan() *cobra.Command {
	c := &cobra.Command{
		Use:    "man directory",
		Short:  "Write the manual pages of yarn-submit into a directory",
		Hidden: true,
		Args:   exactArgs("directory"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return client.Usage(fmt.Errorf("the directory of the manual pages: %w", err))
		}
		root := c.Root()
		root.DisableAutoGenTag = true // pages are the same with the same SOURCE_DATE_EPOCH
		header := &doc.GenManHeader{Section: "1", Source: "bobbin", Manual: "bobbin"}
		if err := doc.GenManTree(root, header, args[0]); err != nil {
			return client.Usage(fmt.Errorf("writing the manual pages: %w", err))
		}
		return nil
	}
	return c
}

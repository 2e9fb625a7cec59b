package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

func newDoctor(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether this machine can submit to the cluster, and say what to do if not",
		Long: `Check whether this machine can submit to the cluster: configuration, login and
Kerberos, each ResourceManager and NameNode, clock, queues, staging directory,
and a delegation token, which is got and cancelled. With --from-node, an
application with one small task also checks what containers reach from a node.
The exit status is 3 if there is a problem.`,
		Args: cobra.NoArgs,
	}
	principal := c.Flags().String("principal", "", "`PRINCIPAL`: who logs in to Kerberos with --keytab (default: the owner of kinit's ticket cache)")
	keytab := c.Flags().String("keytab", "", "`FILE`: the file with the principal's keys")
	node := c.Flags().Bool("from-node", false, "run a small application, and check what its container reaches")
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		flags := map[string]string{}
		if *principal != "" {
			flags[config.KerberosPrincipal.Name()] = *principal
		}
		if *keytab != "" {
			flags[config.KerberosKeytab.Name()] = *keytab
		}
		settings, err := config.FromEnvironment(config.Sources{Flags: flags})
		if err != nil {
			return client.UsageError(err)
		}
		findings := client.RunDoctor(c.Context(), settings, t.logger(false))
		if *node {
			findings = append(findings, examineFromNode(c.Context(), t, settings)...)
		}
		if *asJSON {
			err = t.printJSON(findings)
		} else {
			err = printFindings(t, findings)
		}
		if err != nil {
			return err
		}
		problems := 0
		for _, finding := range findings {
			if finding.Level == client.LevelProblem {
				problems++
			}
		}
		if problems > 0 {
			return client.RefusedErrorf("%d of %d checks found problems", problems, len(findings))
		}
		return nil
	}
	return c
}

func printFindings(t terminal, findings []client.Finding) error {
	width := 0
	for _, finding := range findings {
		width = max(width, len(finding.Check))
	}
	for _, finding := range findings {
		more := ""
		if finding.Key != "" {
			more += "; see " + finding.Key
		}
		if finding.Remedy != "" {
			more += "; remedy: " + finding.Remedy
		}
		level := finding.Level
		if level == client.LevelProblem {
			level = strings.ToUpper(level)
		}
		if _, err := fmt.Fprintf(t.stdout, "%-7s  %-*s  %s%s\n", level, width, finding.Check, finding.Result, more); err != nil {
			return err
		}
	}
	return nil
}

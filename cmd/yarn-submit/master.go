package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/master"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/recovery/open"
)

// newMaster returns the command that runs a standalone cluster's master.
func newMaster(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "master",
		Short: "Run the master of a standalone cluster, for machines without Hadoop",
		Long: "Run the master of a standalone cluster until it is interrupted. Workers join it with\n" +
			"yarn-submit worker bobbin://HOST, and programs run on it with --master bobbin://HOST.\n\n" +
			"All of them need the same secret: the master makes ~/.bobbin/secret if there is none;\n" +
			"copy it to the other machines, or set authenticate.secretFile.\n\n" +
			"With --conf recovery.mode=FILESYSTEM a restarted master restores its state; with\n" +
			"recovery.mode=ETCD a standby takes over.",
		Args: cobra.NoArgs,
	}
	flags := addProcess(c, "master")
	port := c.Flags().Int("port", masterurl.DefaultPort, "`PORT`: where workers and applications reach it; 0 takes a free one")
	webPort := c.Flags().Int("web-port", 8080, "`PORT`: where its page is; 0 takes a free one, -1 has none")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		settings, err := flags.load("master")
		if err != nil {
			return err
		}
		if err := errors.Join(checkPort("port", *port, 0), checkPort("web-port", *webPort, -1)); err != nil {
			return err
		}
		credentials, err := protocol.LoadOrCreate(settings)
		if err != nil {
			return client.UsageError(err)
		}
		logger := logging.New(t.console, settings)
		if !c.Flags().Changed("host") && isLoopback(c.Context(), flags.host) {
			logger.Warn("this machine's name resolves to loopback addresses only (see /etc/hosts), so no other machine reaches the master: "+
				"set --host to an address that others reach", "host", flags.host)
		}
		backend, err := open.Open(c.Context(), settings, logger)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, backend.Close()) }()
		m, err := master.New(master.Options{
			Settings: settings, Host: flags.host, Port: *port, WebPort: *webPort, WorkDir: flags.workDir,
			Credentials: credentials, Backend: backend, Logger: logger,
		})
		if err != nil {
			return err
		}
		// Print the URL to stdout for scripts, which do not know the port if they requested port 0.
		if _, err := fmt.Fprintln(t.stdout, m.URL()); err != nil {
			return err
		}
		return m.Run(c.Context())
	}
	return c
}

// lookupTimeout limits the look-up of this machine's host name.
const lookupTimeout = 5 * time.Second

// isLoopback reports whether a host name resolves only to loopback addresses, as Debian configures
// a machine's own name.
func isLoopback(ctx context.Context, host string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	return err == nil && !slices.ContainsFunc(found, func(a net.IPAddr) bool { return !a.IP.IsLoopback() })
}

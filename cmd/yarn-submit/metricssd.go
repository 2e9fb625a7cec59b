package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
)

func newMetricsSD(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "metrics-sd",
		Short: "Tell Prometheus which applications have metrics",
		Long: `Print the metrics targets of the cluster as JSON for Prometheus: on YARN all
running applications, each through the ResourceManager's web proxy; of a
standalone cluster the master and the workers.

With --listen the command serves the list as Prometheus asks for it
(http_sd_configs), until it is interrupted. Without it the command prints the
list once, for a file (file_sd_configs).`,
		Example: "  yarn-submit metrics-sd > targets.json\n  yarn-submit metrics-sd --listen localhost:9900",
		Args:    cobra.NoArgs,
	}
	listen := c.Flags().String("listen", "", "`HOST:PORT`: serve the list there")
	onCluster(t, c, func(c *cobra.Command, _ []string, cluster clusterClient) error {
		if *listen != "" {
			return serveTargets(c.Context(), t, *listen, cluster.MetricTargets)
		}
		targets, err := cluster.MetricTargets(c.Context())
		if err != nil {
			return err
		}
		return t.printJSON(targets)
	})
	return c
}

// listTimeout limits how long a request of Prometheus waits for the list of targets.
const listTimeout = 30 * time.Second

// serveTargets serves the result of list, as JSON for Prometheus, until ctx ends.
func serveTargets(ctx context.Context, t terminal, address string, list func(context.Context) ([]client.MetricTarget, error)) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return client.UsageError(fmt.Errorf("--listen %s: %w", address, err))
	}
	server := &http.Server{ReadHeaderTimeout: listTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), listTimeout)
		defer cancel()
		targets, err := list(ctx)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(targets) // fails if the client has disconnected
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	t.console.Print("serving the list at http://%s/", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return client.FailedError(err)
	}
	return client.FailedError(context.Cause(ctx))
}

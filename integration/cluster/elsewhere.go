package cluster

import "log/slog"

// External returns a Cluster for daemons that this package did not start and cannot
// stop. The directory dir/client must have the clients' configuration.
func External(dir string, nameNode, resourceManager *Daemon, nodes ...*Node) *Cluster {
	return &Cluster{
		paths: paths{dir}, logger: slog.New(slog.DiscardHandler),
		namenode: nameNode, resourceManager: resourceManager, nodes: nodes,
	}
}

// ExternalDaemon returns a daemon for Elsewhere.
func ExternalDaemon(name string, endpoints map[Endpoint]string) *Daemon {
	return &Daemon{
		name: name, endpoints: endpoints, logger: slog.New(slog.DiscardHandler),
		record: func(string, process) error { return nil },
	}
}

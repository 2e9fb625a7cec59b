package cluster

import "log/slog"

// Elsewhere returns a Cluster for one that this package did not start, for tests that
// need its addresses. The directory client below dir has the clients' configuration.
// Its daemons can be neither started nor stopped.
func Elsewhere(dir string, nameNode, resourceManager *Daemon, nodes ...*Node) *Cluster {
	return &Cluster{
		paths: paths{dir}, logger: slog.New(slog.DiscardHandler),
		namenode: nameNode, resourceManager: resourceManager, nodes: nodes,
	}
}

// DaemonElsewhere returns a daemon of such a cluster.
func DaemonElsewhere(name string, endpoints map[Endpoint]string) *Daemon {
	return &Daemon{
		name: name, endpoints: endpoints, logger: slog.New(slog.DiscardHandler),
		record: func(string, process) error { return nil },
	}
}

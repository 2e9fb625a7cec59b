package cluster

import "log/slog"

// Elsewhere returns a Cluster that stands for one that this package did not start,
// for tests that need its addresses. The directory client below dir must have the
// clients' configuration. The daemons can be neither started nor stopped.
func Elsewhere(dir string, nameNode, resourceManager *Daemon, nodes ...*Node) *Cluster {
	return &Cluster{
		paths: paths{dir}, logger: slog.New(slog.DiscardHandler),
		namenode: nameNode, resourceManager: resourceManager, nodes: nodes,
	}
}

// DaemonElsewhere returns a daemon for Elsewhere.
func DaemonElsewhere(name string, endpoints map[Endpoint]string) *Daemon {
	return &Daemon{
		name: name, endpoints: endpoints, logger: slog.New(slog.DiscardHandler),
		record: func(string, process) error { return nil },
	}
}

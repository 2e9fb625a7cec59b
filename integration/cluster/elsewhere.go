package cluster

import "log/slog"

// Elsewhere describes a cluster that others run, for tests that ask a Cluster
// where its parts are. dir has the clients' configuration in a directory client.
// The daemons are addresses: they can be neither started nor stopped here.
func Elsewhere(dir string, nameNode, resourceManager *Daemon, nodes ...*Node) *Cluster {
	return &Cluster{
		paths: paths{dir}, logger: slog.New(slog.DiscardHandler),
		namenode: nameNode, resourceManager: resourceManager, nodes: nodes,
	}
}

// DaemonElsewhere is a daemon of a cluster that others run.
func DaemonElsewhere(name string, endpoints map[Endpoint]string) *Daemon {
	return &Daemon{
		name: name, endpoints: endpoints, logger: slog.New(slog.DiscardHandler),
		record: func(string, process) error { return nil },
	}
}

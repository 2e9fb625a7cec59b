// Command hadoop-daemon is the entry point and init process of the Hadoop image: it
// runs the daemons that its arguments name, each in a JVM of its own.
//
// Usage:
//
//	hadoop-daemon [-D NAME=VALUE]... DAEMON...
//
// Daemons are namenode, datanode, resourcemanager, nodemanager, zookeeper and idle,
// which starts no daemon and keeps the container up. Properties are for all daemons
// except zookeeper, and override those in /etc/hadoop, as do lines NAME=VALUE in the
// file /etc/hadoop/overrides, which is read at each start.
//
// When one daemon ends, hadoop-daemon stops the others, and the container ends. With
// a file /etc/faketimerc, the daemons take their time from it, by libfaketime.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "hadoop-daemon:", err)
		os.Exit(1)
	}
}

// run runs the daemons until one of them or ctx ends, and stops all.
func run(ctx context.Context, arguments []string) error {
	p, err := parse(arguments)
	if err != nil {
		return err
	}
	if err := p.override(conf + "/overrides"); err != nil {
		return err
	}
	running := newChildren()
	defer running.end()
	for _, name := range p.daemons {
		if name == idle {
			continue
		}
		if err := launch(ctx, running, name, p.properties); err != nil {
			return err
		}
	}
	if name, status := running.next(ctx); name != "" {
		if status.Signaled() {
			return fmt.Errorf("%s was ended by signal %d", name, status.Signal())
		}
		return fmt.Errorf("%s ended with status %d", name, status.ExitStatus())
	}
	return nil
}

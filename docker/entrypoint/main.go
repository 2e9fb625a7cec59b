// Command hadoop-daemon is the entry point of the Hadoop image: it runs the
// daemons that its arguments name, each a JVM, and is their init process.
//
// Usage:
//
//	hadoop-daemon [-D NAME=VALUE]... DAEMON...
//
// Daemons are namenode, datanode, resourcemanager, nodemanager, zookeeper and
// idle, which runs nothing and keeps the container up. Properties go to every
// daemon, over those of /etc/hadoop. The file /etc/hadoop/overrides can hold
// more of them, one NAME=VALUE a line; it is read at each start.
//
// When one daemon ends, the others are ended, and so is the container. Where
// there is an /etc/faketimerc, as libfaketime reads it, the daemons have its
// time.
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

// run returns when a daemon or ctx has ended and all daemons have stopped.
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

// Command hadoop-daemon is the entry point and init process of the Hadoop image. It runs each
// daemon in its arguments in a separate process.
//
// Usage:
//
//	hadoop-daemon [-D NAME=VALUE]... DAEMON...
//
// Daemons are namenode, datanode, resourcemanager, nodemanager, zookeeper, kdc and idle. kdc is
// MIT's Kerberos server; the environment variable KRB5_KDC_PROFILE is the path of its
// configuration file. idle starts no process; it only prevents the container from ending. -D
// sets a Hadoop property of all daemons except zookeeper and kdc. These properties override the
// configuration files in /etc/hadoop. The file /etc/hadoop/overrides can set more properties,
// one NAME=VALUE in each line, which override the arguments. hadoop-daemon reads the file only
// when it starts.
//
// When one daemon ends, hadoop-daemon stops the others and exits, so that the container ends.
// If the file /etc/faketimerc is not empty, the daemons run with libfaketime, which reads the
// time to show them from this file.
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

// run starts the daemons, waits until one of them ends or ctx is cancelled, and stops the
// others.
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

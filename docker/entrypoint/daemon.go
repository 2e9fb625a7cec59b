package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	home     = "/opt/hadoop"
	conf     = "/etc/hadoop"
	data     = "/hadoop"
	fakeTime = "/etc/faketimerc"
)

// launch starts the daemon with the given name. If the daemon is a NameNode whose directory is
// empty, launch formats the directory first.
func launch(ctx context.Context, c *children, name string, properties []string) error {
	for _, dir := range []string{"tmp", "zookeeper"} {
		if err := os.MkdirAll(filepath.Join(data, dir), 0o755); err != nil {
			return err
		}
	}
	environment, err := environ()
	if err != nil {
		return err
	}
	if name == kdc {
		return c.start(name, []string{"krb5kdc", "-n", "-P", filepath.Join(data, "tmp", "kdc.pid")}, environment)
	}
	start := func(arguments ...string) error {
		return c.start(name, append(javaCommand(name), arguments...), environment)
	}
	if name == "zookeeper" {
		return start("2181", filepath.Join(data, name))
	}
	if name == "namenode" {
		if err := format(ctx, c, start, properties); err != nil {
			return err
		}
	}
	return start(genericOptions(properties)...)
}

// format formats the NameNode's directory if it is empty, and waits until the formatting ends.
func format(ctx context.Context, c *children, start func(...string) error, properties []string) error {
	_, err := os.Stat(filepath.Join(data, "name", "current", "VERSION"))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := start(append(genericOptions(properties), "-format", "-nonInteractive", "-force")...); err != nil {
		return err
	}
	switch name, status := c.next(ctx); {
	case name == "":
		return fmt.Errorf("formatting the NameNode's directory: %w", context.Cause(ctx))
	case name != "namenode" || status.ExitStatus() != 0:
		return fmt.Errorf("%s ended with status %d while the NameNode's directory was formatted", name, status.ExitStatus())
	}
	return nil
}

// genericOptions returns properties as -D options for Hadoop's GenericOptionsParser.
func genericOptions(properties []string) []string {
	var arguments []string
	for _, property := range properties {
		arguments = append(arguments, "-D", property)
	}
	return arguments
}

// javaCommand returns the command line of a daemon, without the daemon's arguments. The
// environment variable HADOOP_HEAP sets the maximum heap size; the default is 256m.
func javaCommand(daemon string) []string {
	return []string{
		"java",
		// Many JVMs share a small machine: these options shorten the start and reduce memory.
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms40m", "-Xmx" + cmp.Or(os.Getenv("HADOOP_HEAP"), "256m"), "-Xss512k",
		"--add-opens=java.base/java.lang=ALL-UNNAMED",
		"-Djava.net.preferIPv4Stack=true",
		// Cache addresses only briefly, because a restarted host may have a different address.
		"-Dsun.net.inetaddr.ttl=1", "-Dsun.net.inetaddr.negative.ttl=0",
		"-Djava.io.tmpdir=" + filepath.Join(data, "tmp"),
		"-Dlog4j.configuration=file:" + filepath.Join(conf, "log4j.properties"),
		"-Dzookeeper.admin.enableServer=false",
		"-cp", conf + ":" + home + "/lib/*:" + home,
		classes[daemon],
	}
}

// environ returns the environment of a daemon: the environment of this process, and LD_PRELOAD
// for libfaketime if the file fakeTime exists and is not empty.
func environ() ([]string, error) {
	environment := os.Environ()
	if told, err := os.Stat(fakeTime); err != nil || told.Size() == 0 {
		return environment, nil
	}
	libraries, err := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(libraries) == 0 {
		return nil, fmt.Errorf("%s is there, but no libfaketime: install it in the image", fakeTime)
	}
	// Do not use libfaketime's option that exempts the monotonic clock. If only the wall clock
	// were changed, Java's timed waits would end at once, and the daemon would spin.
	return append(environment, "LD_PRELOAD="+libraries[0]), nil
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Endpoint identifies one of the addresses at which a daemon listens.
type Endpoint string

const (
	// RPC serves clients: ClientProtocol at the NameNode, ApplicationClientProtocol at the
	// ResourceManager, ContainerManagementProtocol at a NodeManager, and the data transfer
	// protocol at a DataNode.
	RPC Endpoint = "rpc"
	// HTTP serves web pages and the REST API.
	HTTP Endpoint = "http"
	// Scheduler serves ApplicationMasters at the ResourceManager (ApplicationMasterProtocol).
	Scheduler Endpoint = "scheduler"
	// Tracker serves NodeManagers at the ResourceManager (ResourceTracker).
	Tracker Endpoint = "tracker"
	// Admin serves the administration protocol of the ResourceManager or a DataNode.
	Admin Endpoint = "admin"
	// Localizer is the endpoint at which a NodeManager serves its localizer processes.
	Localizer Endpoint = "localizer"
)

// stopGrace is the time between SIGTERM and SIGKILL for a daemon. A NodeManager needs this time
// to stop its containers.
const stopGrace = 10 * time.Second

// Daemon is one process of a cluster. Its methods are safe for concurrent use.
type Daemon struct {
	name      string
	command   []string
	logFile   string
	endpoints map[Endpoint]string
	environ   []string
	logger    *slog.Logger
	// record stores the daemon's current process in cluster.json. The zero process means that
	// the daemon is not running.
	record func(daemon string, current process) error

	mu      sync.Mutex // held while the daemon is being started or stopped
	current process    // zero if the daemon is not running
	// exited is closed when the current process has ended and was reaped. It is nil if the
	// current process is not a child process of this process.
	exited chan struct{}
}

// Name returns the daemon's name, such as "datanode-1".
func (d *Daemon) Name() string { return d.name }

// Address returns the address (host:port) of an endpoint, or "" if the daemon does not have
// this endpoint.
func (d *Daemon) Address(endpoint Endpoint) string { return d.endpoints[endpoint] }

// PID returns the daemon's process id, or 0 if the daemon is not running.
func (d *Daemon) PID() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.current.alive() {
		return 0
	}
	return d.current.PID
}

// LogFile returns the path of the file with the daemon's log, or "" if the file is not on this
// machine.
func (d *Daemon) LogFile() string { return d.logFile }

// LogTail returns the last lines of the daemon's output.
func (d *Daemon) LogTail(lines int) string {
	content, err := os.ReadFile(d.logFile)
	if err != nil {
		return err.Error()
	}
	return lastLines(content, lines)
}

// Start starts the daemon, which must not be running, and waits until it listens at all its
// addresses. Then other daemons may not have connected to it yet: see [Cluster.WaitReady].
func (d *Daemon) Start(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.launch(); err != nil {
		return err
	}
	return d.waitListening(ctx)
}

func (d *Daemon) launch() error {
	if d.current.alive() {
		return fmt.Errorf("%s already runs as process %d", d.name, d.current.PID)
	}
	log, err := os.OpenFile(d.logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(d.command[0], d.command[1:]...)
	cmd.Env = d.environ
	cmd.Stdout, cmd.Stderr = log, log
	// The daemon runs in its own session, so that Ctrl-C does not end it. This process stops
	// the daemons in the right order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", d.name, err)
	}
	exited := make(chan struct{})
	identity, err := identify(cmd.Process.Pid)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fmt.Errorf("starting %s: %w", d.name, err)
	}
	go func() {
		// Ignore the error, because the daemon's log explains why the daemon ended.
		_ = cmd.Wait()
		close(exited)
	}()
	d.current, d.exited = identity, exited
	d.logger.Debug("started", "daemon", d.name, "pid", identity.PID)
	return d.record(d.name, d.current)
}

// waitListening waits until the daemon accepts connections at all its addresses. It fails if
// the daemon ends.
func (d *Daemon) waitListening(ctx context.Context) error {
	for endpoint, address := range d.endpoints {
		for !listens(ctx, address) {
			if !d.current.alive() {
				return d.died()
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return fmt.Errorf("%s does not listen on its %s address %s: %w; its log %s ends with\n%s",
					d.name, endpoint, address, context.Cause(ctx), d.logFile, d.LogTail(10))
			}
		}
	}
	return nil
}

func listens(ctx context.Context, address string) bool {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// died returns an error with the last lines of the log of a daemon that has ended unexpectedly.
func (d *Daemon) died() error {
	return fmt.Errorf("%s has ended; its log %s ends with\n%s", d.name, d.logFile, d.LogTail(25))
}

// check returns an error if the daemon is not running.
func (d *Daemon) check() error {
	if d.PID() == 0 {
		return d.died()
	}
	return nil
}

// Stop sends SIGTERM to the daemon and waits until it ends. A NodeManager also stops its
// containers. If the daemon has not ended after ten seconds or when ctx ends, Stop kills it.
func (d *Daemon) Stop(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.current.signal(syscall.SIGTERM); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	if d.current.wait(ctx) != nil {
		d.logger.Info("killing a daemon that did not stop", "daemon", d.name, "pid", d.current.PID)
	}
	return d.kill()
}

// Kill kills the daemon with SIGKILL and waits until it has ended. The containers of a killed
// NodeManager continue to run.
func (d *Daemon) Kill() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kill()
}

// killWait limits the time for which Kill waits for the end of the killed process.
const killWait = time.Minute

func (d *Daemon) kill() error {
	if d.current == (process{}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), killWait)
	defer cancel()
	if err := errors.Join(d.current.signal(syscall.SIGKILL), d.current.wait(ctx)); err != nil {
		return fmt.Errorf("killing %s: %w", d.name, err)
	}
	if d.exited != nil {
		<-d.exited
	}
	d.logger.Debug("ended", "daemon", d.name, "pid", d.current.PID)
	d.current, d.exited = process{}, nil
	return d.record(d.name, d.current)
}

// Restart stops the daemon and starts it again on the same addresses.
func (d *Daemon) Restart(ctx context.Context) error {
	if err := d.Stop(ctx); err != nil {
		return err
	}
	return d.Start(ctx)
}

// daemonEnviron returns the daemons' environment. It contains only a few of this process's
// variables, so that variables of another Hadoop installation, such as HADOOP_HOME, have no
// effect.
func daemonEnviron(dir string) []string {
	environ := []string{clusterVariable + "=" + dir}
	for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

// daemonCommand returns the command line of a daemon. secure are additional JVM options on a
// cluster with Kerberos; it is nil on other clusters.
func daemonCommand(java java, hadoop hadoop, classes *classArchive, p paths, name, class string, secure []string) []string {
	// JVMs use the class archive only if the class path begins with the archive's jars.
	classPath := append(hadoop.classPath[:len(hadoop.classPath):len(hadoop.classPath)], p.conf(name), p.webXMLRoot())
	if secure != nil && strings.HasPrefix(name, "nodemanager") {
		classes = nil
		classPath = append([]string{p.replacements()}, classPath...)
	}
	return append(slices.Concat([]string{java.path}, classes.options(name), secure),
		// Many JVMs share a small machine: these options shorten the start and reduce memory.
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms40m", "-Xmx256m", "-Xss512k",
		"--add-opens=java.base/java.lang=ALL-UNNAMED",
		"-Djava.net.preferIPv4Stack=true",
		"-Djdk.net.hosts.file="+p.hosts(),
		"-Djava.io.tmpdir="+p.tmp(),
		"-Dlog4j.configuration=file:"+p.log4j(),
		"-cp", strings.Join(classPath, ":"),
		class,
	)
}

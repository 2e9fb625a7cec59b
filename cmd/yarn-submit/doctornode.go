package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/route"
)

const (
	fromNode = "from a node" // name of the check in findings
	// nodeTimeout limits the duration of the check's application, including its wait in the queue.
	nodeTimeout = 5 * time.Minute
)

// examineFromNode runs an application with one small task. The task runs in a container, and tries
// to connect to the servers that containers need. examineFromNode returns the findings.
func examineFromNode(ctx context.Context, t terminal, settings *config.Config) []client.Finding {
	what, unreachable, err := askNode(ctx, t, settings)
	if err != nil {
		return []client.Finding{{Check: fromNode, Level: client.LevelProblem, Result: err.Error(),
			Remedy: "let the nodes reach what the message names; yarn-submit logs shows what the application said"}}
	}
	var names []string
	for _, server := range what.Servers {
		names = append(names, "the "+server.Name)
	}
	findings := []client.Finding{{Check: fromNode, Level: client.LevelOK,
		Result: "a container reaches " + strings.Join(names, " and ") + ", and has written and read a block in HDFS"}}
	if unreachable != nil {
		return append(findings, client.Finding{Check: fromNode, Level: client.LevelWarning, Key: config.DriverHost.Name(),
			Result: fmt.Sprintf("a container does not reach this machine, which client mode needs: %v", unreachable),
			Remedy: "let the nodes connect to this machine; driver.host, driver.bindAddress and driver.port say where"})
	}
	return append(findings, client.Finding{Check: fromNode, Level: client.LevelOK, Result: "a container reaches this machine at " + what.Client})
}

// askNode runs the application of examineFromNode. what lists the targets to which the container
// tried to connect. unreachable is the reason why the container did not connect to this machine, or
// nil if it did. err is any other failure.
func askNode(ctx context.Context, t terminal, settings *config.Config) (what reachTargets, unreachable, err error) {
	settings, err = settings.With(map[string]string{
		config.Master.Name(): "yarn", config.DeployMode.Name(): config.DeployCluster, config.WaitAppCompletion.Name(): "true", config.AppName.Name(): "yarn-submit doctor",
		config.ExecutorInstances.Name(): "1", config.DynamicAllocation.Name(): "false",
		config.SubmitTimeout.Name(): cmp.Or(config.SubmitTimeout.In(settings), nodeTimeout).String(),
	})
	if err != nil {
		return what, nil, err
	}
	cluster, err := client.Connect(settings, t.logger(false))
	if err != nil {
		return what, nil, err
	}
	defer cluster.Close()
	if what, err = reachableIn(cluster, settings); err != nil {
		return what, nil, err
	}
	here, unreachable := listenAsDriver(ctx, cluster, settings)
	if unreachable == nil {
		defer here.close()
		what.Client = here.address
	}
	encoded, err := json.Marshal(what)
	if err != nil {
		return what, nil, err
	}
	program, err := executablePath()
	if err != nil {
		return what, nil, err
	}
	job := client.Job{Program: program, IsOwnProgram: true, Args: []string{hiddenReach, string(encoded)}, Settings: settings, Console: t.console}
	if _, err := cluster.Submit(ctx, job); err != nil {
		return what, nil, err
	}
	if unreachable == nil {
		unreachable = here.reached()
	}
	return what, unreachable, nil
}

// reachableIn returns the targets to which containers of a cluster must be able to connect. All
// ResourceManagers are one server with several addresses, because only the active ResourceManager
// listens for ApplicationMasters.
func reachableIn(cluster *client.Cluster, settings *config.Config) (what reachTargets, err error) {
	hadoop := cluster.Hadoop()
	managers, err := hadoop.ResourceManagers("yarn.resourcemanager.scheduler.address")
	if err != nil {
		return what, err
	}
	what.Servers = append(what.Servers, reachedServer{Name: "ResourceManager", Addresses: managers})
	root := hadoop.DefaultFS()
	if !strings.HasPrefix(root, "hdfs://") {
		return what, fmt.Errorf("the default file system %s is not HDFS: see fs.defaultFS", root)
	}
	nameNodes, err := hadoop.NameNodes(root)
	if err != nil {
		return what, err
	}
	for _, address := range nameNodes {
		what.Servers = append(what.Servers, reachedServer{Name: "NameNode " + address, Addresses: []string{address}})
	}
	what.Directory, err = cluster.StagingDirectory(settings)
	return what, err
}

// driverListener listens at the address at which a driver in client mode would listen.
type driverListener struct {
	listener  *net.TCPListener
	address   string     // host:port to which containers connect
	connected chan error // receives nil after the first connection, or the error of the listener
}

func listenAsDriver(ctx context.Context, cluster *client.Cluster, settings *config.Config) (*driverListener, error) {
	host := config.DriverHost.In(settings)
	if host == "" {
		managers, err := cluster.Hadoop().ResourceManagers("yarn.resourcemanager.address")
		if err != nil {
			return nil, err
		}
		source, err := route.SourceIP(ctx, managers)
		if err != nil {
			return nil, err
		}
		host = source.String()
	}
	bind, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(cmp.Or(config.DriverBind.In(settings), host), strconv.Itoa(config.DriverPort.In(settings))))
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp", bind)
	if err != nil {
		return nil, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	end := &driverListener{listener: listener, address: net.JoinHostPort(host, strconv.Itoa(port)), connected: make(chan error, 1)}
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			err = connection.Close()
		}
		end.connected <- err
	}()
	return end, nil
}

// acceptTime is how long reached waits for a connection. One second is enough, because the
// container has connected before the application ended.
const acceptTime = time.Second

// reached returns an error if no container has connected. It must be called after the end of the
// application, and only once.
func (d *driverListener) reached() error {
	_ = d.listener.SetDeadline(time.Now().Add(acceptTime))
	if err := <-d.connected; err != nil {
		return fmt.Errorf("none has connected to %s", d.address)
	}
	return nil
}

func (d *driverListener) close() { _ = d.listener.Close() }

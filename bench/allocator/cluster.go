package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/yarntest"
)

const (
	runTimeout = 3 * time.Minute
	// hostsPerByte is the number of nodes whose addresses have the same third byte.
	hostsPerByte = 250
	nodes        = 2000
	racks        = 40
	user         = "bench"
)

// host returns the host name of the node with the given number. The name is a loopback address,
// which needs no look-up.
func host(node int) string {
	return fmt.Sprintf("127.1.%d.%d", node/hostsPerByte, node%hostsPerByte+1)
}

// allocate measures an ApplicationMaster that requests and starts the given number of
// containers on a simulated cluster.
func allocate(ctx context.Context, containers int, verbose bool) (_ cost, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, runTimeout, fmt.Errorf("the measurement took longer than %v", runTimeout))
	defer cancel()
	specs := make([]yarntest.NodeSpec, nodes)
	byHost := make(map[string]string, nodes)
	// Each node has room for about twice the average number of containers.
	room := int64(2*containers/nodes + 8)
	for i := range specs {
		specs[i] = yarntest.NodeSpec{
			Host: host(i), Rack: fmt.Sprintf("/rack-%02d", i%racks+1),
			Resource: yarn.Resource{MemoryMB: room * 1024, VCores: int32(room)},
		}
		byHost[specs[i].Host] = specs[i].Rack
	}
	cluster, err := yarntest.New(yarntest.Options{Nodes: specs, Network: yarntest.TCP()})
	if err != nil {
		return cost{}, err
	}
	defer cluster.Close()
	application := cluster.Submit(yarntest.Submission{
		User: user, Managed: true, Resource: yarn.Resource{MemoryMB: 1024, VCores: 1}, MaxAttempts: 1,
	})
	id := application.ID()
	if err := cluster.Await(ctx, func(v yarntest.View) bool { return v.Application(id).Launched }); err != nil {
		return cost{}, err
	}
	directory, err := os.MkdirTemp("", "bobbin-bench-allocator-")
	if err != nil {
		return cost{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()

	master, err := masterCommand(ctx, directory, application, cluster.HadoopConf(), byHost, containers)
	if err != nil {
		return cost{}, err
	}
	if verbose {
		master.Stderr = os.Stderr
	}
	if err := master.Start(); err != nil {
		return cost{}, err
	}
	// If the ApplicationMaster's process ends early, stop waiting for its containers.
	var over atomic.Bool
	running, ended := context.WithCancelCause(ctx)
	defer ended(nil)
	waited := make(chan error, 1)
	go func() {
		err := master.Wait()
		if !over.Load() {
			ended(fmt.Errorf("the ApplicationMaster ended: %v: see what it logs with -v", err))
		}
		waited <- err
	}()
	measured, err := watch(running, cluster, id, master.Process.Pid, containers)
	over.Store(true)
	if err != nil {
		err = errors.Join(err, context.Cause(running))
	}
	_ = master.Process.Signal(syscall.SIGTERM) // fails if the process has ended
	<-waited
	return measured, err
}

// masterCommand returns the command of the ApplicationMaster's process: this program, with the
// environment variables that a NodeManager sets.
func masterCommand(ctx context.Context, directory string, application *yarntest.Application, hadoop map[string]string,
	racks map[string]string, containers int) (*exec.Cmd, error) {
	spec := &launch.Spec{
		Name: "allocator", User: user, Command: []string{"./allocator"}, Racks: racks, Hadoop: hadoop,
		Properties: map[string]string{
			"executor.instances":          strconv.Itoa(containers),
			"executor.memory":             "1g",
			"yarn.executor.launchTimeout": "0",
		},
	}
	encoded, err := spec.Encode()
	if err != nil {
		return nil, err
	}
	credentials := &security.Credentials{}
	credentials.SetToken("", application.AMRMToken())
	credentials.SetSecret(launch.SecretSpec, encoded)
	tokens := filepath.Join(directory, "tokens")
	file, err := credentials.Encode(security.Writable)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(tokens, file, 0o600); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	master := exec.CommandContext(ctx, self)
	master.Env = []string{
		launch.EnvRole + "=" + string(launch.RoleAM),
		"CONTAINER_ID=" + yarn.ContainerID{Attempt: application.AttemptID(), ID: 1}.String(),
		"HADOOP_TOKEN_FILE_LOCATION=" + tokens,
		"NM_HOST=127.0.0.1", "LOG_DIRS=" + directory, "HOME=" + directory, "GOMAXPROCS=1",
		envTasks + "=" + strconv.Itoa(containers),
	}
	master.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return master, nil
}

// watch measures the process pid, an ApplicationMaster, from its registration until the given
// number of containers run.
func watch(ctx context.Context, cluster *yarntest.Cluster, id yarn.ApplicationID, pid, containers int) (cost, error) {
	if err := cluster.Await(ctx, func(v yarntest.View) bool { return v.Application(id).Registered }); err != nil {
		return cost{}, err
	}
	began := time.Now()
	before, err := cpuTime(pid)
	if err != nil {
		return cost{}, err
	}
	if err := cluster.Await(ctx, func(v yarntest.View) bool { return v.Running(id) >= containers }); err != nil {
		return cost{}, err
	}
	seconds := time.Since(began).Seconds()
	after, err := cpuTime(pid)
	return cost{seconds: seconds, cpuSeconds: (after - before).Seconds()}, err
}

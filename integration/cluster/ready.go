package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// WaitReady waits until the cluster is usable: the NameNode has left safe mode and all
// DataNodes have registered, the ResourceManager is active, and all NodeManagers are in state
// RUNNING. If a daemon is not running, WaitReady returns an error with the end of the daemon's
// log. If ctx ends, the error says what was missing.
func (c *Cluster) WaitReady(ctx context.Context) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		for _, daemon := range c.Daemons() {
			if err := daemon.check(); err != nil {
				return err
			}
		}
		missing := c.checkReady(ctx)
		if missing == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("the cluster in %s is not ready: %w: %w", c.paths.dir, missing, context.Cause(ctx))
		}
	}
}

// checkReady returns an error that says why the cluster is not usable, or nil if it is usable.
func (c *Cluster) checkReady(ctx context.Context) error {
	servers, err := c.webServers(ctx)
	if err != nil {
		return err
	}
	for _, namenode := range c.activeNameNodes()[1:] {
		if err := checkStorage(ctx, servers, namenode.Address(HTTP), len(c.nodes), nil); err != nil {
			return fmt.Errorf("%s: %w", namenode.name, err)
		}
	}
	return checkReady(ctx, servers, c.namenode.Address(HTTP), c.resourceManager.Address(HTTP), len(c.nodes), nil)
}

// CheckReady returns nil if a cluster with the given number of nodes is usable, or an error
// that says what is missing. It queries the web servers of the NameNode and the
// ResourceManager, which are given as host:port. started contains the times at which some hosts
// were started, by host name. CheckReady counts the daemons of these hosts only if they have
// sent a heartbeat since then, because masters notice the loss of a killed daemon only some
// seconds later. CheckReady works with any cluster, also with one of package containers.
func CheckReady(ctx context.Context, nameNode, resourceManager string, nodes int, started map[string]time.Time) error {
	return checkReady(ctx, plainWeb(), nameNode, resourceManager, nodes, started)
}

func checkReady(ctx context.Context, servers webClient, nameNode, resourceManager string, nodes int, started map[string]time.Time) error {
	if err := checkStorage(ctx, servers, nameNode, nodes, started); err != nil {
		return fmt.Errorf("namenode: %w", err)
	}
	if err := checkCompute(ctx, servers, resourceManager, nodes, started); err != nil {
		return fmt.Errorf("resourcemanager: %w", err)
	}
	return nil
}

func checkStorage(ctx context.Context, servers webClient, nameNode string, nodes int, started map[string]time.Time) error {
	var answer struct {
		Beans []struct {
			Safemode  string // "" if safe mode is off, otherwise the reason for safe mode
			LiveNodes string // JSON object with an element for each DataNode
		} `json:"beans"`
	}
	query := "/jmx?qry=" + url.QueryEscape("Hadoop:service=NameNode,name=NameNodeInfo")
	if err := getJSON(ctx, servers, nameNode, query, &answer); err != nil {
		return err
	}
	if len(answer.Beans) != 1 {
		return fmt.Errorf("it does not tell its state yet")
	}
	if safemode := answer.Beans[0].Safemode; safemode != "" {
		return fmt.Errorf("%s", safemode)
	}
	asked := time.Now()
	var live map[string]struct { // by host:port
		Capacity    int64 `json:"capacity"`    // bytes; 0 until the first heartbeat
		LastContact int64 `json:"lastContact"` // seconds since the last heartbeat, rounded down
	}
	if err := json.Unmarshal([]byte(answer.Beans[0].LiveNodes), &live); err != nil {
		return fmt.Errorf("its LiveNodes: %w", err)
	}
	ready := 0
	for address, node := range live {
		host, _, _ := strings.Cut(address, ":")
		heard := asked.Add(-time.Duration(node.LastContact+1) * time.Second) // earliest possible time of the last heartbeat
		if node.Capacity > 0 && heard.After(started[host]) {
			ready++
		}
	}
	if ready < nodes {
		return fmt.Errorf("%d of %d DataNodes are live", ready, nodes)
	}
	return nil
}

func checkCompute(ctx context.Context, servers webClient, resourceManager string, nodes int, started map[string]time.Time) error {
	// Also check the state: a starting ResourceManager lists nodes before it serves the
	// administration protocol.
	var info struct {
		ClusterInfo struct {
			HAState string `json:"haState"`
		} `json:"clusterInfo"`
	}
	if err := getJSON(ctx, servers, resourceManager, "/ws/v1/cluster/info", &info); err != nil {
		return err
	}
	if state := info.ClusterInfo.HAState; state != "ACTIVE" {
		return fmt.Errorf("it is %s", state)
	}
	var answer struct {
		Nodes struct {
			Node []struct {
				Host             string `json:"nodeHostName"`
				LastHealthUpdate int64  `json:"lastHealthUpdate"` // Unix time in milliseconds according to the node's clock
			}
		} `json:"nodes"`
	}
	if err := getJSON(ctx, servers, resourceManager, "/ws/v1/cluster/nodes?states=RUNNING", &answer); err != nil {
		return err
	}
	running := 0
	for _, node := range answer.Nodes.Node {
		reported := time.UnixMilli(node.LastHealthUpdate)
		// If the time is in the future, the node's clock was wrong.
		if begun, known := started[node.Host]; !known || reported.After(begun) && reported.Before(time.Now().Add(time.Minute)) {
			running++
		}
	}
	if running < nodes {
		return fmt.Errorf("%d of %d NodeManagers are running", running, nodes)
	}
	return nil
}

// getJSON fetches a JSON resource from a daemon's web server and decodes it. The decoded value
// is stored in the variable that the parameter "into" points to.
func getJSON(ctx context.Context, servers webClient, address, resource string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, servers.scheme+"://"+address+resource, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	client := http.Client{Transport: servers}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", request.URL, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("GET %s: %w", request.URL, err)
	}
	return nil
}

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// WaitReady returns when the cluster is usable: every DataNode has reported to
// the NameNode, which has left safe mode, and every NodeManager is RUNNING in
// the ResourceManager. It returns at once with the end of its log when a
// daemon does not run, and with what is missing when ctx ends.
func (c *Cluster) WaitReady(ctx context.Context) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		for _, daemon := range c.Daemons() {
			if err := daemon.check(); err != nil {
				return err
			}
		}
		missing := c.missing(ctx)
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

// missing says what the cluster lacks to be usable.
func (c *Cluster) missing(ctx context.Context) error {
	return Missing(ctx, c.namenode.Address(HTTP), c.resourceManager.Address(HTTP), len(c.nodes))
}

// Missing says what a cluster of so many nodes lacks to be usable, by the word
// of its NameNode's and its ResourceManager's web servers (host:port); nil when
// it lacks nothing. It answers for any cluster, not only this package's.
func Missing(ctx context.Context, nameNode, resourceManager string, nodes int) error {
	if err := missingStorage(ctx, nameNode, nodes); err != nil {
		return fmt.Errorf("namenode: %w", err)
	}
	if err := missingCompute(ctx, resourceManager, nodes); err != nil {
		return fmt.Errorf("resourcemanager: %w", err)
	}
	return nil
}

func missingStorage(ctx context.Context, nameNode string, nodes int) error {
	var answer struct {
		Beans []struct {
			Safemode  string // "" when off, else why it is on
			LiveNodes string // JSON: an object by DataNode
		} `json:"beans"`
	}
	query := "/jmx?qry=" + url.QueryEscape("Hadoop:service=NameNode,name=NameNodeInfo")
	if err := getJSON(ctx, nameNode, query, &answer); err != nil {
		return err
	}
	if len(answer.Beans) != 1 {
		return fmt.Errorf("it does not tell its state yet")
	}
	if safemode := answer.Beans[0].Safemode; safemode != "" {
		return fmt.Errorf("%s", safemode)
	}
	var live map[string]struct {
		Capacity int64 `json:"capacity"` // bytes; 0 until the first heartbeat
	}
	if err := json.Unmarshal([]byte(answer.Beans[0].LiveNodes), &live); err != nil {
		return fmt.Errorf("its LiveNodes: %w", err)
	}
	ready := 0
	for _, node := range live {
		if node.Capacity > 0 {
			ready++
		}
	}
	if ready < nodes {
		return fmt.Errorf("%d of %d DataNodes are live", ready, nodes)
	}
	return nil
}

func missingCompute(ctx context.Context, resourceManager string, nodes int) error {
	var answer struct {
		Nodes struct {
			Node []struct{}
		} `json:"nodes"`
	}
	if err := getJSON(ctx, resourceManager, "/ws/v1/cluster/nodes?states=RUNNING", &answer); err != nil {
		return err
	}
	if running := len(answer.Nodes.Node); running < nodes {
		return fmt.Errorf("%d of %d NodeManagers are running", running, nodes)
	}
	return nil
}

// getJSON gets a resource of a daemon's web server.
func getJSON(ctx context.Context, address, resource string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+resource, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	// Without kept connections, which would outlive the cluster.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
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

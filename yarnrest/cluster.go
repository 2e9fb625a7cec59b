package yarnrest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ClusterInfo describes the active ResourceManager.
type ClusterInfo struct {
	ID                     int64 // start time in milliseconds since 1970, which is part of every application's id
	StartedOn              time.Time
	State                  string // "STARTED"
	HAState                string // "ACTIVE"
	RMStateStore           string
	ResourceManagerVersion string
	HadoopVersion          string
}

// ClusterInfo returns a description of the active ResourceManager. It ignores the responses of
// standbys.
func (c *Client) ClusterInfo(ctx context.Context) (*ClusterInfo, error) {
	a, err := c.call(ctx, restRequest{method: http.MethodGet, path: "/ws/v1/cluster/info", check: checkActive})
	if err != nil {
		return nil, err
	}
	root, err := a.json()
	if err != nil {
		return nil, err
	}
	n := root.at("clusterInfo")
	if !n.present() {
		return nil, a.missingPart("clusterInfo")
	}
	return &ClusterInfo{
		ID:                     n.at("id").int64(),
		StartedOn:              n.at("startedOn").time(),
		State:                  n.at("state").text(),
		HAState:                n.at("haState").text(),
		RMStateStore:           n.at("rmStateStoreName").text(),
		ResourceManagerVersion: n.at("resourceManagerVersion").text(),
		HadoopVersion:          n.at("hadoopVersion").text(),
	}, nil
}

// checkActive returns an error if the response is from a standby ResourceManager.
func checkActive(a successResponse) error {
	root, err := a.json()
	if err != nil {
		return err
	}
	switch state := root.at("clusterInfo", "haState").text(); state {
	case "", "ACTIVE":
		return nil
	default:
		return &errStandby{text: "its state is " + state}
	}
}

// Metrics are totals over the cluster. Memory is in MiB.
type Metrics struct {
	AppsSubmitted, AppsCompleted, AppsPending, AppsRunning, AppsFailed, AppsKilled int
	TotalMB, AvailableMB, AllocatedMB, ReservedMB, PendingMB                       int64
	TotalVCores, AvailableVCores, AllocatedVCores, ReservedVCores, PendingVCores   int64
	ContainersAllocated, ContainersReserved, ContainersPending                     int
	TotalNodes, ActiveNodes, LostNodes, UnhealthyNodes                             int
	DecommissioningNodes, DecommissionedNodes, RebootedNodes, ShutdownNodes        int
}

// Metrics returns totals over the cluster.
func (c *Client) Metrics(ctx context.Context) (*Metrics, error) {
	a, root, err := c.get(ctx, "/ws/v1/cluster/metrics", nil)
	if err != nil {
		return nil, err
	}
	n := root.at("clusterMetrics")
	if !n.present() {
		return nil, a.missingPart("clusterMetrics")
	}
	return &Metrics{
		AppsSubmitted: n.at("appsSubmitted").int(),
		AppsCompleted: n.at("appsCompleted").int(),
		AppsPending:   n.at("appsPending").int(),
		AppsRunning:   n.at("appsRunning").int(),
		AppsFailed:    n.at("appsFailed").int(),
		AppsKilled:    n.at("appsKilled").int(),

		TotalMB:     n.at("totalMB").int64(),
		AvailableMB: n.at("availableMB").int64(),
		AllocatedMB: n.at("allocatedMB").int64(),
		ReservedMB:  n.at("reservedMB").int64(),
		PendingMB:   n.at("pendingMB").int64(),

		TotalVCores:     n.at("totalVirtualCores").int64(),
		AvailableVCores: n.at("availableVirtualCores").int64(),
		AllocatedVCores: n.at("allocatedVirtualCores").int64(),
		ReservedVCores:  n.at("reservedVirtualCores").int64(),
		PendingVCores:   n.at("pendingVirtualCores").int64(),

		ContainersAllocated: n.at("containersAllocated").int(),
		ContainersReserved:  n.at("containersReserved").int(),
		ContainersPending:   n.at("containersPending").int(),

		TotalNodes:           n.at("totalNodes").int(),
		ActiveNodes:          n.at("activeNodes").int(),
		LostNodes:            n.at("lostNodes").int(),
		UnhealthyNodes:       n.at("unhealthyNodes").int(),
		DecommissioningNodes: n.at("decommissioningNodes").int(),
		DecommissionedNodes:  n.at("decommissionedNodes").int(),
		RebootedNodes:        n.at("rebootedNodes").int(),
		ShutdownNodes:        n.at("shutdownNodes").int(),
	}, nil
}

// Node is a NodeManager as the ResourceManager reports it.
type Node struct {
	ID                string // host:port of the NodeManager's RPC server
	Host              string
	Rack              string
	HTTPAddress       string // host:port of the NodeManager's web server; "" unless the node is active
	State             string // "RUNNING", "UNHEALTHY", "LOST", …
	Version           string
	HealthReport      string
	LastHealthUpdate  time.Time
	Containers        int
	UsedMemoryMB      int64
	AvailableMemoryMB int64
	UsedVCores        int64
	AvailableVCores   int64
	Labels            []string
	Total             Resource // the node's capacity; zero if the ResourceManager does not report it
}

// Nodes returns the nodes in the given states, such as "RUNNING". Without states, it returns
// all nodes.
func (c *Client) Nodes(ctx context.Context, states ...string) ([]Node, error) {
	query := url.Values{}
	if len(states) > 0 {
		query.Set("states", strings.Join(states, ","))
	}
	_, root, err := c.get(ctx, "/ws/v1/cluster/nodes", query)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, n := range root.at("nodes", "node").list() {
		nodes = append(nodes, Node{
			ID:                n.at("id").text(),
			Host:              n.at("nodeHostName").text(),
			Rack:              n.at("rack").text(),
			HTTPAddress:       n.at("nodeHTTPAddress").text(),
			State:             n.at("state").text(),
			Version:           n.at("version").text(),
			HealthReport:      n.at("healthReport").text(),
			LastHealthUpdate:  n.at("lastHealthUpdate").time(),
			Containers:        n.at("numContainers").int(),
			UsedMemoryMB:      n.at("usedMemoryMB").int64(),
			AvailableMemoryMB: n.at("availMemoryMB").int64(),
			UsedVCores:        n.at("usedVirtualCores").int64(),
			AvailableVCores:   n.at("availableVirtualCores").int64(),
			Labels:            n.at("nodeLabels").strings(),
			Total:             decodeResource(n.at("totalResource")),
		})
	}
	return nodes, nil
}

// NodeLabels returns the names of the cluster's node labels.
func (c *Client) NodeLabels(ctx context.Context) ([]string, error) {
	_, root, err := c.get(ctx, "/ws/v1/cluster/get-node-labels", nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, n := range root.at("nodeLabelInfo").list() {
		if name := n.at("name").text(); name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

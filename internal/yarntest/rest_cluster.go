package yarntest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// version is the Hadoop release that the simulated cluster reports.
const version = "3.4.1"

func (c *Cluster) restInfo(m *master, w http.ResponseWriter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := "STANDBY"
	if m.serving {
		state = "ACTIVE"
	}
	answer(w, http.StatusOK, map[string]any{"clusterInfo": map[string]any{
		"id": c.identifier, "startedOn": c.identifier, "state": "STARTED", "haState": state,
		"rmStateStoreName":       "org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore",
		"resourceManagerVersion": version, "hadoopVersion": version,
	}})
}

func (c *Cluster) restMetrics(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var used yarn.Resource
	states := map[yarn.NodeState]int{}
	containers := 0
	for _, n := range c.nodes {
		states[n.state]++
		containers += len(n.held)
		if n.active() {
			used = add(used, n.used, 1)
		}
	}
	applications := map[yarn.ApplicationState]int{}
	for _, app := range c.applications {
		applications[app.state]++
	}
	total := c.total()
	answer(w, http.StatusOK, map[string]any{"clusterMetrics": map[string]any{
		"appsSubmitted": len(c.applications), "appsCompleted": applications[yarn.ApplicationFinished],
		"appsPending": applications[yarn.ApplicationAccepted], "appsRunning": applications[yarn.ApplicationRunning],
		"appsFailed": applications[yarn.ApplicationFailed], "appsKilled": applications[yarn.ApplicationKilled],
		"totalMB": total.MemoryMB, "allocatedMB": used.MemoryMB, "availableMB": total.MemoryMB - used.MemoryMB,
		"totalVirtualCores": total.VCores, "allocatedVirtualCores": used.VCores, "availableVirtualCores": total.VCores - used.VCores,
		"containersAllocated": containers, "containersPending": c.demand,
		"totalNodes": len(c.nodes), "activeNodes": states[yarn.NodeRunning], "lostNodes": states[yarn.NodeLost],
		"unhealthyNodes": states[yarn.NodeUnhealthy], "decommissioningNodes": states[yarn.NodeDecommissioning],
		"decommissionedNodes": states[yarn.NodeDecommissioned], "shutdownNodes": states[yarn.NodeShutdown],
	}})
}

func (c *Cluster) restNodes(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var states []string
	if list := r.URL.Query().Get("states"); list != "" {
		states = strings.Split(strings.ToUpper(list), ",")
	}
	nodes := []map[string]any{}
	for _, n := range c.nodes {
		state := strings.ToUpper(n.state.String())
		if len(states) > 0 && !slices.Contains(states, state) || n.state == yarn.NodeNew {
			continue
		}
		free, address := n.free(), n.httpAddress()
		if !n.active() {
			free, address = yarn.Resource{}, ""
		}
		node := map[string]any{
			"id": n.id.String(), "nodeHostName": n.spec.Host, "rack": n.spec.Rack, "state": state, "nodeHTTPAddress": address,
			"version": version, "healthReport": n.health, "numContainers": len(n.held), "usedMemoryMB": n.used.MemoryMB,
			"availMemoryMB": free.MemoryMB, "usedVirtualCores": n.used.VCores, "availableVirtualCores": free.VCores,
		}
		if n.spec.Label != "" {
			node["nodeLabels"] = []string{n.spec.Label}
		}
		nodes = append(nodes, node)
	}
	answer(w, http.StatusOK, map[string]any{"nodes": map[string]any{"node": nodes}})
}

func (c *Cluster) restScheduler(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := c.total()
	queues := []map[string]any{}
	for _, q := range c.queues {
		queues = append(queues, map[string]any{
			"type": "capacitySchedulerLeafQueueInfo", "queueType": "leaf", "queueName": q.spec.Name, "queuePath": q.path(), "state": "RUNNING",
			"capacity": q.spec.Capacity, "maxCapacity": q.spec.MaxCapacity, "absoluteCapacity": q.spec.Capacity,
			"usedCapacity":      share(q.used, total) * 100 / q.spec.Capacity * 100,
			"maximumAllocation": restResource(c.options.MaxContainer),
		})
	}
	answer(w, http.StatusOK, map[string]any{"scheduler": map[string]any{"schedulerInfo": map[string]any{
		"type": "capacityScheduler", "queueName": "root", "queuePath": "root", "capacity": 100, "maxCapacity": 100,
		"queues": map[string]any{"queue": queues},
	}}})
}

func restResource(r yarn.Resource) map[string]any {
	return map[string]any{"memory": r.MemoryMB, "vCores": r.VCores}
}

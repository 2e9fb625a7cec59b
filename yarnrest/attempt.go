package yarnrest

import (
	"context"
	"time"
)

// ApplicationAttempt is one attempt of an application.
type ApplicationAttempt struct {
	ID              string // "appattempt_…"
	Number          int    // counted from 1
	State           string // "LAUNCHED", "RUNNING", "FINISHED", "FAILED", "KILLED", …; "" in Hadoop 3.3
	Started         time.Time
	Finished        time.Time
	ContainerID     string // id of the ApplicationMaster's container; "" before the allocation
	NodeID          string
	NodeHTTPAddress string // host:port of the web server of the ApplicationMaster's NodeManager
	LogsLink        string
}

// Attempts returns the attempts of an application, the earliest first.
func (c *Client) Attempts(ctx context.Context, applicationID string) ([]ApplicationAttempt, error) {
	_, root, err := c.get(ctx, pathOf(appsPath, applicationID, "appattempts"), nil)
	if err != nil {
		return nil, err
	}
	var attempts []ApplicationAttempt
	for _, n := range root.at("appAttempts", "appAttempt").list() {
		attempts = append(attempts, ApplicationAttempt{
			ID:              n.at("appAttemptId").text(),
			Number:          n.at("id").int(),
			State:           n.at("appAttemptState").text(),
			Started:         n.at("startTime").time(),
			Finished:        n.at("finishedTime").time(),
			ContainerID:     n.at("containerId").text(),
			NodeID:          n.at("nodeId").text(),
			NodeHTTPAddress: n.at("nodeHttpAddress").text(),
			LogsLink:        n.at("logsLink").text(),
		})
	}
	return attempts, nil
}

// Container is a container of an attempt, as the ResourceManager reports it.
type Container struct {
	ID              string
	State           string // "NEW", "RUNNING", "COMPLETE"
	AllocatedMB     int64
	AllocatedVCores int64
	Priority        int
	Started         time.Time
	Finished        time.Time
	NodeID          string
	NodeHTTPAddress string // host:port of the NodeManager's web server
	LogURL          string
	ExitStatus      int
	Diagnostics     string
}

// Containers returns the containers of an attempt that have not ended. The ResourceManager
// forgets containers that have ended.
func (c *Client) Containers(ctx context.Context, applicationID, attemptID string) ([]Container, error) {
	_, root, err := c.get(ctx, pathOf(appsPath, applicationID, "appattempts", attemptID, "containers"), nil)
	if err != nil {
		return nil, err
	}
	var containers []Container
	for _, n := range root.at("container").list() {
		containers = append(containers, Container{
			ID:              n.at("containerId").text(),
			State:           n.at("containerState").text(),
			AllocatedMB:     n.at("allocatedMB").int64(),
			AllocatedVCores: n.at("allocatedVCores").int64(),
			Priority:        n.at("priority").int(),
			Started:         n.at("startedTime").time(),
			Finished:        n.at("finishedTime").time(),
			NodeID:          firstPresent(n.at("nodeId"), n.at("assignedNodeId")).text(),
			NodeHTTPAddress: trimScheme(n.at("nodeHttpAddress").text()),
			LogURL:          n.at("logUrl").text(),
			ExitStatus:      n.at("containerExitStatus").int(),
			Diagnostics:     n.at("diagnosticsInfo").text(),
		})
	}
	return containers, nil
}

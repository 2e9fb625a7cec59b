package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

// MetricTargets returns the leading master and the workers.
func (s *Cluster) MetricTargets(ctx context.Context) ([]client.MetricTarget, error) {
	encoded, err := s.masters.Status(ctx)
	if err != nil {
		return nil, refusedError(ctx, err)
	}
	var state struct {
		WebURL string `json:"webUrl"`
		cluster.Status
	}
	if err := json.Unmarshal(encoded, &state); err != nil {
		return nil, client.RefusedError(fmt.Errorf("the master's status: %w", err))
	}
	targets := []client.MetricTarget{}
	add := func(page string, labels map[string]string) error {
		target, err := client.NewMetricTarget(page, labels)
		if err != nil {
			return client.RefusedError(fmt.Errorf("the master's status: %w", err))
		}
		targets = append(targets, target)
		return nil
	}
	if err := add(state.WebURL, map[string]string{"process": "master"}); err != nil {
		return nil, err
	}
	for _, worker := range state.Workers {
		if worker.State == cluster.WorkerDead || worker.WebURL == "" {
			continue
		}
		if err := add(worker.WebURL, map[string]string{"process": "worker", "host": worker.Host}); err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// Profile fails: drivers on a standalone cluster serve no profiles.
func (s *Cluster) Profile(context.Context, string, client.ProfileOptions) ([]byte, error) {
	return nil, client.UsageErrorf("profile: the driver of an application on a standalone cluster serves no profiles")
}

package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

const (
	// profileGrace is added to the profile's duration to obtain the timeout of the request.
	profileGrace = 30 * time.Second
	// maxProfile is the largest size of a profile in bytes.
	maxProfile = 64 << 20
)

// driverPages requests pages of drivers. It ignores HTTP_PROXY and similar environment
// variables. It has no timeout for responses, because recording a profile takes long.
var driverPages = &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: pageTimeout}).DialContext, DisableKeepAlives: true}}

// MetricTargets returns the addresses of the metrics of the leading master, the workers, and
// the drivers whose pages are reachable from other machines.
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
	for _, a := range state.Applications {
		if a.WebURL == "" {
			continue
		}
		if err := add(a.WebURL, map[string]string{"process": "driver", "application_id": a.ID, "application": a.Name, "user": a.User}); err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// Profile records a profile of a running application, and returns it in the format of go tool
// pprof. id is the id of the application or of its driver. Profile fails if the driver's pages
// are not reachable from other machines.
func (s *Cluster) Profile(ctx context.Context, id string, o client.ProfileOptions) ([]byte, error) {
	found, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if found.pages == "" {
		return nil, client.UsageErrorf("profile: the driver of %s serves no profiles to this machine: it must run, have been submitted with "+
			"--deploy-mode cluster, and have ui.enabled and not acls.enable; other drivers have profiles on the pages whose address they print", id)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Duration+profileGrace)
	defer cancel()
	profile, err := takeProfile(ctx, found.pages+profiling.Path+"?"+profiling.Request(o).Values().Encode())
	return profile, client.RefusedError(err)
}

// takeProfile requests url from a driver and returns the response. If the driver refuses the
// request, the error contains the driver's message.
func takeProfile(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := driverPages.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxProfile))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the driver refuses: %s", strings.TrimSpace(string(content)))
	}
	return content, err
}

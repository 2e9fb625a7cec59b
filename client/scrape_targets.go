package client

import (
	"context"
	"net/url"
	"path"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// MetricTarget is a web server with metrics, in the format of Prometheus' service discovery by HTTP
// or by file (http_sd_configs, file_sd_configs).
type MetricTarget struct {
	Targets []string          `json:"targets"` // host:port
	Labels  map[string]string `json:"labels"`
}

// NewMetricTarget returns the target for a web server with the given URL and labels. It omits
// labels with the value "".
func NewMetricTarget(page string, labels map[string]string) (MetricTarget, error) {
	base, err := url.Parse(page)
	if err != nil {
		return MetricTarget{}, err
	}
	target := MetricTarget{Targets: []string{base.Host}, Labels: map[string]string{
		"__scheme__": base.Scheme, "__metrics_path__": path.Join("/", base.EscapedPath(), metrics.Path),
	}}
	for name, value := range labels {
		if value != "" {
			target.Labels[name] = value
		}
	}
	return target, nil
}

// MetricTargets returns a target for each running application: the application's pages at the web
// proxy.
func (c *Cluster) MetricTargets(ctx context.Context) ([]MetricTarget, error) {
	applications, err := c.List(ctx, Selection{States: []string{stateRunning}})
	if err != nil {
		return nil, err
	}
	targets := []MetricTarget{}
	for _, a := range applications {
		if a.TrackingURL == "" { // the URL is hidden from users who may not view the application
			continue
		}
		target, err := NewMetricTarget(a.TrackingURL, map[string]string{
			"application_id": a.ApplicationID, "application": a.Name, "user": a.User, "queue": a.Queue,
		})
		if err != nil {
			return nil, RefusedError(err)
		}
		targets = append(targets, target)
	}
	return targets, nil
}

package yarnrest

import (
	"context"
	"net/http"
	"time"
)

// lifetimeLayout is how the ResourceManager reads a time (Times.java of Hadoop 3).
const lifetimeLayout = "2006-01-02T15:04:05.000-0700"

// SetLifetime has the ResourceManager kill an application some time after it was
// started. It looks every few seconds (yarn.resourcemanager.application-timeouts.monitor.interval-ms),
// and does so whether or not anybody follows the application.
func (c *Client) SetLifetime(ctx context.Context, id string, lifetime time.Duration) error {
	application, err := c.Application(ctx, id)
	if err != nil {
		return err
	}
	// By the ResourceManager's clock, and not by this machine's.
	expires := application.Started.Add(lifetime).Format(lifetimeLayout)
	return c.change(ctx, http.MethodPut, pathOf(appsPath, id, "timeout"),
		map[string]any{"timeout": map[string]string{"type": "LIFETIME", "expiryTime": expires}})
}

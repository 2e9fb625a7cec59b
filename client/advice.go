package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// checkLabels finds node labels that the cluster does not have. Executors are
// asked for when the application runs already, so it would fail late.
func (c *Cluster) checkLabels(ctx context.Context, settings *config.Config) error {
	keys := slices.DeleteFunc([]config.Key[string]{config.AMLabel, config.ExecutorLabel}, func(key config.Key[string]) bool {
		return key.In(settings) == ""
	})
	if len(keys) == 0 {
		return nil
	}
	known, err := c.rest.NodeLabels(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		label := key.In(settings)
		switch {
		case len(known) == 0:
			return fmt.Errorf("%s=%s: the cluster has no node labels (yarn.node-labels.enabled)", key.Name(), label)
		case !slices.Contains(known, label):
			return fmt.Errorf("%s=%s: the cluster has no such node label, it has %s", key.Name(), label, strings.Join(known, ", "))
		}
	}
	return nil
}

// Hadoop's keys about how often an ApplicationMaster is started.
const (
	maxAttemptsKey       = "yarn.resourcemanager.am.max-attempts"
	globalMaxAttemptsKey = "yarn.resourcemanager.am.global.max-attempts"
)

// warnOfSettings tells of settings that will not do what they seem to.
func (c *Cluster) warnOfSettings(settings *config.Config, console *Console) {
	if keys := config.ACLsWithoutEffect(settings); len(keys) > 0 {
		console.Warn("%s let nobody in, as %s is not true", strings.Join(keys, ", "), config.ACLsEnable.Name())
	}
	// The client's configuration may not have the key, or another value than the
	// ResourceManager's, which then decides.
	key := globalMaxAttemptsKey
	if _, set := c.hadoop.Get(key); !set {
		key = maxAttemptsKey
	}
	if _, set := c.hadoop.Get(key); !set {
		return
	}
	most, err := c.hadoop.Int(key, 0)
	if wanted := config.MaxAttempts.In(settings); err == nil && wanted > most {
		console.Warn("%s=%d: the cluster starts an ApplicationMaster %d times at the most (%s in %s)", config.MaxAttempts.Name(), wanted, most, key, c.hadoop.Source(key))
	}
}

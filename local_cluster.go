package bobbin

import (
	"context"
	"errors"
	"log/slog"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/localcluster"
)

// localCluster is a driver in this process with executors of a standalone cluster
// that it starts on this machine, and ends.
type localCluster struct {
	url      localClusterURL
	settings *config.Config
	logger   *slog.Logger
}

func newLocalCluster(settings *config.Config, logger *slog.Logger) (*localCluster, error) {
	url, err := parseLocalCluster(config.Master.In(settings))
	if err != nil {
		return nil, err
	}
	if settings, err = url.fit(settings); err != nil {
		return nil, err
	}
	return &localCluster{url: url, settings: settings, logger: logger}, nil
}

// run starts the cluster, runs the driver function on it, and ends it.
func (l *localCluster) run(ctx context.Context, function func(ctx context.Context) error) (err error) {
	cluster, err := localcluster.Start(ctx, localcluster.Options{
		Workers: l.url.workers, Cores: l.url.cores, Memory: l.url.memory, Settings: l.settings, Logger: l.logger,
	})
	if err != nil {
		return err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWait)
		defer cancel()
		err = errors.Join(err, cluster.Stop(stopping))
	}()
	masters, err := masterurl.ParseStandalone(cluster.URL())
	if err != nil {
		return err
	}
	executors, err := standaloneAt(masters, cluster.Credentials(), l.settings, l.logger)
	if err != nil {
		return err
	}
	return executors.run(ctx, function)
}

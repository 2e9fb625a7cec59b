package role

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/localcluster"
)

// runLocalCluster starts a standalone cluster on this machine, runs a driver with executors on the
// cluster, and stops the cluster.
func runLocalCluster(ctx context.Context, master masterurl.URL, settings *config.Config, t *terminal, function func(ctx context.Context) error) (err error) {
	if settings, err = fitToWorkers(settings, master); err != nil {
		return client.UsageError(err)
	}
	cluster, err := localcluster.Start(ctx, localcluster.Options{
		Workers: master.Workers, Cores: master.Cores, Memory: master.Memory, Settings: settings, Logger: t.logger,
	})
	if err != nil {
		return err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, cluster.Stop(stopping))
	}()
	masters, err := masterurl.ParseStandalone(cluster.URL())
	if err != nil {
		return err
	}
	return standalone{masters: masters, credentials: cluster.Credentials(), terminal: t}.run(ctx, settings, function)
}

// fitToWorkers lowers the default of executor.memory to the memory of a worker. It fails if an
// executor would still be larger than a worker, because the executor could never start.
func fitToWorkers(settings *config.Config, master masterurl.URL) (*config.Config, error) {
	if !settings.IsSet(config.ExecutorMemory.Name()) && config.ExecutorMemory.In(settings) > master.Memory {
		fitted, err := settings.With(map[string]string{config.ExecutorMemory.Name(): fmt.Sprintf("%dm", master.Memory/config.MiB)})
		if err != nil {
			return nil, err
		}
		settings = fitted
	}
	memory := config.ExecutorMemory.In(settings)
	if total := memory + config.ExecutorOverhead.Of(settings, memory); total > master.Memory {
		return nil, fmt.Errorf("an executor takes %d MiB (%s from %s), and each worker of %s has %d", total/config.MiB,
			config.ExecutorMemory.Name(), settings.Source(config.ExecutorMemory.Name()), master.Text, master.Memory/config.MiB)
	}
	if cores := config.ExecutorCores.In(settings); cores > master.Cores {
		return nil, fmt.Errorf("an executor takes %d cores (%s from %s), and each worker of %s has %d", cores,
			config.ExecutorCores.Name(), settings.Source(config.ExecutorCores.Name()), master.Text, master.Cores)
	}
	return settings, nil
}

package role

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/storage"
)

// localExecutor is the id, and localHost the host, of a local master's only executor.
const (
	localExecutor = "driver"
	localHost     = "localhost"
)

// runLocal runs a driver with an executor in this process.
func runLocal(ctx context.Context, master masterurl.URL, settings *config.Config, t *terminal, function func(ctx context.Context) error) (err error) {
	logger := t.logger
	hadoop, err := client.HadoopConfig(settings)
	if err != nil {
		return client.UsageError(err)
	}
	if settings, err = settingsForOneExecutor(settings); err != nil {
		return client.UsageError(err)
	}
	identity, err := client.Login(hadoop, settings)
	if err != nil {
		return err
	}
	defer identity.Close()
	resources, err := executorbackend.Discover(ctx, settings, config.TaskResourceNames(settings, config.ExecutorResources(settings)))
	if err != nil {
		return err
	}
	files := storage.New(identity.Storage(storage.Options{Hadoop: hadoop, Logger: logger}))
	defer func() { err = errors.Join(err, files.Close()) }()
	a, err := startDriver(driverOptions{
		id: "local-" + randomHex(), master: master.Text, user: identity.User, settings: settings, files: files, terminal: t, logger: logger,
	})
	if err != nil {
		return err
	}
	a.MaxFailures = master.MaxFailures
	a.localCapacity = &localExecutorSize{master: master.Text, cores: master.Cores, resources: resources}
	executor := executorbackend.Options{
		ID: localExecutor, Host: localHost, Cores: master.Cores, Resources: resources, Config: settings, Logger: logger,
	}
	serving, stopServing := context.WithCancel(storage.With(context.WithoutCancel(ctx), files))
	var served sync.WaitGroup
	served.Go(func() {
		// AttachLocal fails only if the driver has stopped. The driver reports the reason itself.
		_ = a.Driver.AttachLocal(serving, func(ctx context.Context, stream wire.ExecutorSide) error {
			return executorbackend.Serve(ctx, executor, stream)
		})
	})
	defer func() {
		err = errors.Join(err, a.stop(ctx))
		stopServing()
		served.Wait()
	}()
	return t.follow(ctx, a, false, func() error { return a.run(ctx, context.Background(), 0, function) })
}

// settingsForOneExecutor disables the settings that make the driver stop its only executor or wait
// for a second one.
func settingsForOneExecutor(settings *config.Config) (*config.Config, error) {
	off := map[string]string{}
	for _, key := range []config.Key[bool]{config.DynamicAllocation, config.Speculation, config.ExcludeTasks} {
		if key.In(settings) {
			off[key.Name()] = "false"
		}
	}
	return settings.With(off)
}

func randomHex() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

package bobbin

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/pools"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/storage"
)

const (
	// localExecutor and localHost name the one executor of a local master.
	localExecutor = "driver"
	localHost     = "localhost"
	// localStop bounds the end of a local driver.
	localStop = 10 * time.Second
)

// local is a driver with an executor in the same process.
type local struct {
	settings *config.Config
	hadoop   *conf.Config // nil where there is none
	master   localMaster
	logger   *slog.Logger
}

func newLocal(settings *config.Config, logger *slog.Logger) (*local, error) {
	master, err := parseLocalMaster(config.Master.In(settings))
	if err != nil {
		return nil, err
	}
	hadoop, err := hadoopOfHere(settings)
	if err != nil {
		return nil, err
	}
	if settings, err = withoutOthers(settings); err != nil {
		return nil, err
	}
	return &local{settings: settings, hadoop: hadoop, master: master, logger: logger}, nil
}

// withoutOthers are the settings for the one executor that there is: what gives
// it up, or waits for another, does not happen.
func withoutOthers(settings *config.Config) (*config.Config, error) {
	off := map[string]string{}
	for _, key := range []config.Key[bool]{config.DynamicAllocation, config.Speculation, config.ExcludeTasks} {
		if key.In(settings) {
			off[key.Name()] = "false"
		}
	}
	return settings.With(off)
}

// hadoopOfHere returns the Hadoop configuration of this machine, with the
// settings' hadoop.* keys over it, or nil if there is neither.
func hadoopOfHere(settings *config.Config) (*conf.Config, error) {
	overrides := config.Hadoop.In(settings)
	hadoop, err := conf.FromEnvironment(overrides)
	switch {
	case !errors.Is(err, conf.ErrNotConfigured):
		return hadoop, err
	case len(overrides) > 0:
		return conf.FromMap(overrides), nil
	}
	return nil, nil
}

// run gives the driver function a driver of its own, and ends that with it.
func (l *local) run(ctx context.Context, function func(ctx context.Context) error) (err error) {
	user, err := security.CurrentUser()
	if err != nil {
		return err
	}
	files := storage.New(storage.Options{Hadoop: l.hadoop, User: user.Effective, Logger: l.logger})
	defer func() { err = errors.Join(err, files.Close()) }()
	shares, err := pools.Of(l.settings)
	if err != nil {
		return err
	}
	resources, err := executorbackend.Discover(ctx, l.settings, config.TaskResourceNames(l.settings, config.ExecutorResources(l.settings)))
	if err != nil {
		return err
	}
	scheduler, err := driver.New(driver.Options{
		ApplicationID: "local-" + randomHex(),
		User:          user.Effective,
		Config:        l.settings,
		Pools:         shares,
		Logger:        l.logger,
	})
	if err != nil {
		return err
	}

	executor := executorbackend.Options{
		ID: localExecutor, Host: localHost, Cores: l.master.cores, Resources: resources, Config: l.settings, Logger: l.logger,
	}
	serving, stopServing := context.WithCancel(storage.With(context.WithoutCancel(ctx), files))
	var served sync.WaitGroup
	served.Go(func() {
		// Its end is the driver's, which says so itself.
		_ = scheduler.AttachLocal(serving, func(ctx context.Context, stream wire.ExecutorSide) error {
			return executorbackend.Serve(ctx, executor, stream)
		})
	})
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), localStop)
		defer cancel()
		err = errors.Join(err, scheduler.Stop(bounded))
		stopServing()
		served.Wait()
	}()

	shared := &process{
		applicationID: scheduler.ApplicationID(),
		settings:      l.settings,
		maxFailures:   l.master.maxFailures,
		room:          &room{master: cmp.Or(config.Master.In(l.settings), "local[*]"), cores: l.master.cores, resources: resources},
		driver:        scheduler,
		files:         files,
		created:       func() {},
	}
	return call(shared.context(ctx), function)
}

func randomHex() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

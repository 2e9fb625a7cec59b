package bobbin

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"runtime"
	"strconv"
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
	hadoop, err := conf.FromEnvironment()
	if errors.Is(err, conf.ErrNotConfigured) {
		hadoop, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &local{settings: settings, hadoop: hadoop, master: master, logger: logger}, nil
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
		driver:        scheduler,
		files:         files,
		created:       func() {},
	}
	return call(shared.context(ctx), function)
}

// localMaster is a master URL of the kind local[N,F].
type localMaster struct {
	cores       int
	maxFailures int // of one task
}

var localURL = regexp.MustCompile(`^local(?:\[(\d+|\*)(?:,(\d+))?\])?$`)

// parseLocalMaster reads local (one core), local[N], local[*] (every core),
// local[N,F] and local[*,F]. Without an F a task that fails is not tried again:
// what fails on this machine once fails again.
func parseLocalMaster(master string) (localMaster, error) {
	if master == "" {
		master = "local[*]"
	}
	parts := localURL.FindStringSubmatch(master)
	if parts == nil {
		if master == "yarn" {
			return localMaster{}, errors.New("master yarn: a program is sent to a cluster by yarn-submit submit " + os.Args[0] +
				", or with BOBBIN_SUBMIT_DEPLOY_MODE=client drives its tasks there from here")
		}
		return localMaster{}, fmt.Errorf("master %q: want local, local[N], local[*], local[N,F] or local[*,F]; "+
			"yarn-submit submits to yarn", master)
	}
	parsed := localMaster{cores: 1, maxFailures: 1}
	switch count := parts[1]; count {
	case "":
	case "*":
		parsed.cores = runtime.GOMAXPROCS(0)
	default:
		parsed.cores, _ = strconv.Atoi(count)
	}
	if parts[2] != "" {
		parsed.maxFailures, _ = strconv.Atoi(parts[2])
	}
	const most = 1 << 16
	if parsed.cores < 1 || parsed.cores > most || parsed.maxFailures < 1 {
		return localMaster{}, fmt.Errorf("master %q: want 1 to %d cores, and at least 1 failure", master, most)
	}
	return parsed, nil
}

func randomHex() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

package bobbin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/internal/pools"
	"github.com/bobbin-yarn/bobbin/standalone/application"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/storage"
)

// standalone is a driver in this process with executors of a standalone cluster.
type standalone struct {
	settings    *config.Config // of the driver; nothing of the credentials
	masters     []string
	credentials *protocol.Credentials
	driverID    string       // as the cluster knows this driver; "" where it does not run it
	hadoop      *conf.Config // nil where there is none
	logger      *slog.Logger
}

func newStandalone(settings *config.Config, logger *slog.Logger) (*standalone, error) {
	masters, err := masterurl.ParseStandalone(config.Master.In(settings))
	if err != nil {
		return nil, err
	}
	credentials, err := protocol.Load(settings)
	if err != nil {
		return nil, err
	}
	s, err := standaloneAt(masters, credentials, settings, logger)
	if err != nil {
		return nil, err
	}
	s.driverID, err = handedDriverID()
	return s, err
}

func standaloneAt(masters []string, credentials *protocol.Credentials, settings *config.Config, logger *slog.Logger) (*standalone, error) {
	hadoop, err := hadoopOfHere(settings)
	if err != nil {
		return nil, err
	}
	if settings, err = application.DriverSettings(settings); err != nil {
		return nil, err
	}
	return &standalone{settings: settings, masters: masters, credentials: credentials, hadoop: hadoop, logger: logger}, nil
}

// run gives the driver function a driver of its own, and ends that with it.
func (s *standalone) run(ctx context.Context, function func(ctx context.Context) error) (err error) {
	user, err := security.CurrentUser()
	if err != nil {
		return err
	}
	files := storage.New(storage.Options{Hadoop: s.hadoop, User: user.Effective, Logger: s.logger})
	defer func() { err = errors.Join(err, files.Close()) }()
	access, err := identity.New()
	if err != nil {
		return err
	}
	scheduler, address, err := s.driver(ctx, user.Effective, access)
	if err != nil {
		return err
	}
	manager, err := s.register(ctx, scheduler, address, access, user.Effective)
	if err != nil {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWait)
		defer cancel()
		return errors.Join(err, scheduler.Stop(stopping))
	}
	defer manager.Close()
	scheduler.SetManager(manager)
	shared := &process{
		applicationID: scheduler.ApplicationID(),
		settings:      s.settings,
		maxFailures:   config.TaskMaxFailures.In(s.settings),
		driver:        scheduler,
		files:         files,
		created:       func() {},
	}
	err = untilOver(ctx, manager, func(ctx context.Context) error { return call(shared.context(ctx), function) })
	s.finish(ctx, scheduler, manager, err)
	return err
}

// driver starts the driver, and says by which address executors reach it.
func (s *standalone) driver(ctx context.Context, user string, access *identity.Identity) (_ *driver.Driver, address string, err error) {
	shares, err := pools.Of(s.settings)
	if err != nil {
		return nil, "", err
	}
	host, bind, err := driverAddresses(ctx, s.settings, s.masters)
	if err != nil {
		return nil, "", err
	}
	var hadoop map[string]string
	if s.hadoop != nil {
		hadoop = s.hadoop.Map()
	}
	started, err := driver.New(driver.Options{
		ApplicationID: application.NewID(time.Now()),
		User:          user,
		Config:        s.settings,
		Hadoop:        hadoop,
		Identity:      access,
		BindAddress:   net.JoinHostPort(bind, strconv.Itoa(config.DriverPort.In(s.settings))),
		Pools:         shares,
		Logger:        s.logger,
	})
	if err != nil {
		return nil, "", fmt.Errorf("%w; see driver.host, driver.bindAddress and driver.port", err)
	}
	_, port, err := net.SplitHostPort(started.Addr())
	return started, net.JoinHostPort(host, port), err
}

// register tells a master of the application.
func (s *standalone) register(ctx context.Context, scheduler *driver.Driver, address string, access *identity.Identity, user string) (*application.Application, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, which is to run on the cluster: %w", err)
	}
	shipped, err := s.files(program)
	if err != nil {
		return nil, err
	}
	name := config.AppName.In(s.settings)
	if name == "" {
		name = filepath.Base(program)
	}
	return application.Start(ctx, application.Options{
		ID:      scheduler.ApplicationID(),
		Masters: s.masters,
		Dial:    s.credentials.DialOptions(),
		Files:   shipped,
		Description: &protocol.ApplicationDescription{
			Name: name, User: user, CoresMax: uint32(config.CoresMax.In(s.settings)),
			DriverId: s.driverID, Submitted: time.Now().UnixNano(),
			Command: &protocol.ExecutorCommand{
				Environment: config.ExecutorEnv.In(s.settings), Driver: address, Pass: access.Pass(), User: user,
			},
		},
		TaskResources: func(amounts map[string]int64) map[string]int64 { return config.TaskResourceNames(s.settings, amounts) },
		Driver:        scheduler,
		Logger:        s.logger,
	})
}

// files are the program and what lies beside it in the executors' directories.
func (s *standalone) files(program string) (*application.Files, error) {
	named, err := client.LocalFiles(program, s.settings)
	if err != nil {
		return nil, err
	}
	local := []application.LocalFile{{Path: program, Name: filepath.Base(program), Executable: true}}
	for _, one := range named {
		local = append(local, application.LocalFile{Path: one.Path, Name: one.Name, Archive: one.Archive, Executable: one.Executable})
	}
	return application.ReadFiles(local)
}

// ender says when an application is over by its master's word, and why.
type ender interface {
	Over() <-chan struct{}
	Err() error
}

// untilOver runs the driver function until it returns, or the master has ended
// the application, which ends the function's context. One that does not heed
// that for am.DriverGrace ends with the process.
func untilOver(ctx context.Context, manager ender, function func(ctx context.Context) error) error {
	alive, end := context.WithCancelCause(ctx)
	defer end(nil)
	returned := make(chan error, 1)
	go func() { returned <- function(alive) }()
	select {
	case err := <-returned:
		return err
	case <-manager.Over():
	}
	end(manager.Err())
	select {
	case err := <-returned:
		if err == nil {
			return manager.Err()
		}
		return errors.Join(manager.Err(), err)
	case <-time.After(am.DriverGrace):
		return manager.Err()
	}
}

// finish has the executors leave, and tells the master how the application ended.
func (s *standalone) finish(ctx context.Context, scheduler *driver.Driver, manager *application.Application, failure error) {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWait)
	defer cancel()
	manager.RequestExecutors(driver.Request{}) // nobody comes in place of those that leave
	err := scheduler.Stop(ending)
	if manager.Err() == nil {
		err = errors.Join(err, manager.Finish(ending, failure))
	}
	if err != nil {
		s.logger.Warn("ending the application", "error", err)
	}
}

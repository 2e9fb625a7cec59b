package role

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/application"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/storage"
)

// standalone is the standalone cluster for a driver in this process.
type standalone struct {
	masters     []string // host:port
	credentials *protocol.Credentials
	driverID    string // the cluster's id for this driver; "" if the cluster did not start it
	*terminal
}

// runStandalone runs a driver with executors on a standalone cluster.
func runStandalone(ctx context.Context, master masterurl.URL, settings *config.Config, t *terminal, function func(ctx context.Context) error) error {
	credentials, err := protocol.Load(settings)
	if err != nil {
		return client.Usage(err)
	}
	driverID, err := givenDriverID()
	if err != nil {
		return client.Usage(err)
	}
	return standalone{masters: master.Addresses, credentials: credentials, driverID: driverID, terminal: t}.run(ctx, settings, function)
}

// givenDriverID returns this driver's id in the standalone cluster that started it, or "".
func givenDriverID() (string, error) {
	id := os.Getenv(launch.EnvDriverID)
	// An application that this program starts must not count as this driver's, because
	// killing it would kill the driver.
	return id, os.Unsetenv(launch.EnvDriverID)
}

func (s standalone) run(ctx context.Context, settings *config.Config, function func(ctx context.Context) error) (err error) {
	hadoop, err := hadoopConfig(settings)
	if err != nil {
		return client.Usage(err)
	}
	if settings, err = application.DriverSettings(settings); err != nil {
		return client.Usage(err)
	}
	user, err := security.CurrentUser()
	if err != nil {
		return err
	}
	files := storage.New(storage.Options{Hadoop: hadoop, User: user.Effective, Logger: s.logger})
	defer func() { err = errors.Join(err, files.Close()) }()
	host, bind, err := driverAddresses(ctx, settings, s.masters)
	if err != nil {
		return err
	}
	a, err := startDriver(driverOptions{
		id: application.NewID(time.Now()), user: user.Effective, settings: settings, hadoop: hadoop, files: files,
		host: host, bind: bind, terminal: s.terminal, logger: s.logger,
	})
	if err != nil {
		return err
	}
	manager, err := s.register(ctx, a, user.Effective)
	if err != nil {
		return errors.Join(err, a.stop(ctx))
	}
	defer manager.Close()
	a.Driver.SetManager(manager)

	alive, end := context.WithCancelCause(context.Background())
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	watching.Go(func() {
		select {
		case <-manager.Over():
			end(manager.Err())
		case <-alive.Done():
		}
	})
	err = s.follow(ctx, a, true, func() error { return a.run(ctx, alive, 0, function) })
	if removed := manager.Err(); removed != nil && !errors.Is(err, removed) {
		err = errors.Join(removed, err)
	}
	s.finish(ctx, a, manager, err)
	return err
}

// register registers the application with the cluster's leading master.
func (s standalone) register(ctx context.Context, a *Application, user string) (*application.Application, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, which is to run on the cluster: %w", err)
	}
	files, err := shippedFiles(program, a.Settings)
	if err != nil {
		return nil, err
	}
	name := config.AppName.In(a.Settings)
	if name == "" {
		name = filepath.Base(program)
	}
	return application.Start(ctx, application.Options{
		ID:      a.ID,
		Masters: s.masters,
		Dial:    s.credentials.DialOptions(),
		Files:   files,
		Description: &protocol.ApplicationDescription{
			Name: name, User: user, CoresMax: uint32(config.CoresMax.In(a.Settings)),
			DriverId: s.driverID, Submitted: time.Now().UnixNano(),
			Command: &protocol.ExecutorCommand{
				Environment: config.ExecutorEnv.In(a.Settings), Driver: a.address, Pass: a.pass, User: user,
			},
		},
		TaskResources: func(amounts map[string]int64) map[string]int64 { return config.TaskResourceNames(a.Settings, amounts) },
		Driver:        a.Driver,
		Logger:        s.logger,
	})
}

// shippedFiles returns the program and the files for executors' working directories.
func shippedFiles(program string, settings *config.Config) (*application.Files, error) {
	named, err := client.LocalFiles(program, settings)
	if err != nil {
		return nil, err
	}
	local := []application.LocalFile{{Path: program, Name: filepath.Base(program), Executable: true}}
	for _, file := range named {
		local = append(local, application.LocalFile{Path: file.Path, Name: file.Name, Archive: file.Archive, Executable: file.Executable})
	}
	return application.ReadFiles(local)
}

// finish stops the executors and the driver, and reports the application's end to the master.
func (s standalone) finish(ctx context.Context, a *Application, manager *application.Application, failure error) {
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	manager.RequestExecutors(driver.Request{}) // do not replace executors that stop
	err := a.stop(stopping)
	if manager.Err() == nil {
		err = errors.Join(err, manager.Finish(stopping, failure))
	}
	if err != nil {
		s.logger.Warn("ending the application", "error", err)
	}
}

package role

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/application"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/storage"
)

// standalone is the connection of a driver in this process to a standalone cluster.
type standalone struct {
	masters     []string // addresses (host:port) of the cluster's masters
	credentials *protocol.Credentials
	driverID    string // id that the cluster assigned to this driver; "" if the cluster did not start this process
	*terminal
}

// runStandalone runs a driver with executors on a standalone cluster.
func runStandalone(ctx context.Context, master masterurl.URL, settings *config.Config, t *terminal, function func(ctx context.Context) error) error {
	credentials, err := protocol.Load(settings)
	if err != nil {
		return client.UsageError(err)
	}
	driverID, err := driverIDFromWorker()
	if err != nil {
		return client.UsageError(err)
	}
	return standalone{masters: master.Addresses, credentials: credentials, driverID: driverID, terminal: t}.run(ctx, settings, function)
}

// driverIDFromWorker returns the id of this driver if a standalone worker started this process, or
// "". It removes the environment variable with the id.
func driverIDFromWorker() (string, error) {
	id := os.Getenv(launch.EnvDriverID)
	// If a child process submits another application, the cluster must not associate that
	// application with this driver: killing that application would kill this driver.
	return id, os.Unsetenv(launch.EnvDriverID)
}

func (s standalone) run(ctx context.Context, settings *config.Config, function func(ctx context.Context) error) (err error) {
	hadoop, err := client.HadoopConfig(settings)
	if err != nil {
		return client.UsageError(err)
	}
	if settings, err = application.DriverSettings(settings); err != nil {
		return client.UsageError(err)
	}
	identity, err := client.Login(hadoop, settings)
	if err != nil {
		return err
	}
	defer identity.Close()
	files := storage.New(identity.Storage(storage.Options{Hadoop: hadoop, Logger: s.logger}))
	defer func() { err = errors.Join(err, files.Close()) }()
	host, bind, err := driverAddresses(ctx, settings, s.masters)
	if err != nil {
		return err
	}
	a, err := startDriver(driverOptions{
		id: application.NewID(time.Now()), user: identity.User, settings: settings, hadoop: hadoop, files: files,
		host: host, bind: bind, terminal: s.terminal, logger: s.logger,
	})
	if err != nil {
		return err
	}
	if identity.Secure() {
		stop, err := keepTokens(ctx, a, identity, hadoop)
		if err != nil {
			return errors.Join(err, a.stop(ctx))
		}
		defer stop()
	}
	pages, stopPages := "", func() {}
	if s.driverID != "" {
		pages, stopPages = a.servePagesOnCluster()
	}
	defer stopPages()
	manager, err := s.register(ctx, a, identity.User, pages)
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
		case <-manager.Ended():
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

// keepTokens sends delegation tokens of file systems to the executors. Until stop is called, it
// also obtains and sends new tokens before the old tokens expire. stop cancels the obtained tokens.
func keepTokens(ctx context.Context, a *Application, identity *client.Identity, hadoop *conf.Config) (stop func(), err error) {
	publish := func(tokens *security.Credentials) {
		encoded, err := tokens.Encode(security.Writable)
		if err != nil {
			a.Logger.Error("delegation tokens cannot be encoded", "error", err)
			return
		}
		a.Driver.SetCredentials(encoded)
	}
	renewal, err := identity.Renewal(a.Files, hadoop, a.Settings, a.Logger)
	if err != nil {
		return nil, err
	}
	if renewal == nil {
		publish(identity.FileSystemTokens())
		return func() {}, nil
	}
	tokens, err := renewal.Obtain(ctx)
	if err != nil || tokens == nil {
		return func() {}, err
	}
	publish(tokens.Credentials)
	renewing, end := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { renewal.Run(renewing, tokens, publish) })
	return func() {
		end()
		running.Wait()
		renewal.Cancel(ctx)
	}, nil
}

// register registers the application with the leading master of the cluster. pages is the URL of
// the application's pages for other machines; "" if there are no such pages.
func (s standalone) register(ctx context.Context, a *Application, user, pages string) (*application.Application, error) {
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
			WebUrl: pages, DriverId: s.driverID, Submitted: time.Now().UnixNano(),
			Command: &protocol.ExecutorCommand{
				Environment: executorEnvironment(a.Settings), Driver: a.address, Pass: a.pass, User: user,
			},
		},
		TaskResources: func(amounts map[string]int64) map[string]int64 { return config.TaskResourceNames(a.Settings, amounts) },
		Driver:        a.Driver,
		Events:        a.Driver.Events(),
		Logger:        s.logger,
	})
}

// executorEnvironment returns the variables that an application sets for its executors.
func executorEnvironment(settings *config.Config) map[string]string {
	variables := maps.Clone(config.ExecutorEnv.In(settings))
	if setting := config.ShuffleService.In(settings); setting != config.ShuffleServiceOff {
		variables[launch.EnvShuffleService] = setting
	}
	return variables
}

// shippedFiles returns the program, and the files that workers copy to executors' working
// directories.
func shippedFiles(program string, settings *config.Config) (*application.HashedFiles, error) {
	named, err := client.LocalFiles(program, settings)
	if err != nil {
		return nil, err
	}
	local := []application.LocalFile{{Path: program, Name: filepath.Base(program), Executable: true}}
	for _, file := range named {
		local = append(local, application.LocalFile{Path: file.Path, Name: file.Name, Archive: file.Archive, Executable: file.Executable})
	}
	return application.HashFiles(local)
}

// finish stops the executors and the driver, and reports the application's end to the master.
func (s standalone) finish(ctx context.Context, a *Application, manager *application.Application, failure error) {
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	summary := client.InProcessDriver{Driver: a.Driver, Cluster: true}.Summary()
	manager.RequestExecutors(driver.Request{}) // the cluster must not replace the executors that stop now
	err := a.stop(stopping)
	if manager.Err() == nil {
		err = errors.Join(err, manager.Finish(stopping, failure, summary))
	}
	if err != nil {
		s.logger.Warn("ending the application", "error", err)
	}
}

package bobbin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/storage"
)

// runAM is this process as ApplicationMaster.
func runAM(run func(ctx context.Context) error) int {
	return am.Main(asApplication(run), containerLogger)
}

// asApplication is the user's driver function in an ApplicationMaster.
func asApplication(run func(ctx context.Context) error) func(ctx context.Context, application *am.Application) error {
	return func(ctx context.Context, application *am.Application) error {
		shared := &process{
			applicationID: application.ID,
			settings:      application.Config,
			maxFailures:   config.TaskMaxFailures.In(application.Config),
			driver:        application.Driver,
			files:         application.Files,
			created:       application.SessionCreated,
		}
		return call(shared.context(ctx), run)
	}
}

// containerLogger writes to a container's stderr.
func containerLogger(settings *config.Config) *slog.Logger { return logging.New(os.Stderr, settings) }

// runExecutor is this process as executor, until its driver tells it to stop.
func runExecutor() int {
	logger := logging.New(os.Stderr, config.Default())
	slog.SetDefault(logger)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	err := serveAsExecutor(ctx, logger)
	switch {
	case ctx.Err() != nil:
		logger.Info("executor was told to stop by a signal")
		return am.ExitTerminated
	case err != nil:
		logger.Error("executor ended", "error", err)
		return executorbackend.ExitCode(err)
	}
	return 0
}

func serveAsExecutor(ctx context.Context, logger *slog.Logger) error {
	cores, err := strconv.Atoi(os.Getenv(launch.EnvCores))
	if err != nil {
		return fmt.Errorf("%s: %w: an executor is started by its ApplicationMaster", launch.EnvCores, err)
	}
	profile := 0 // that of the settings
	if text, set := os.LookupEnv(launch.EnvProfile); set {
		if profile, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%s: %w", launch.EnvProfile, err)
		}
	}
	credentials, err := security.CredentialsFromEnvironment()
	if err != nil {
		return err
	}
	pass, ok := credentials.Secret(launch.SecretDriver)
	if !ok {
		return fmt.Errorf("the container's credentials hold nothing to join the driver by")
	}
	resources, err := handedResources()
	if err != nil {
		return err
	}
	leave, stopLeaving := decommissioned()
	defer stopLeaving()
	options := executorbackend.Options{
		ID:      os.Getenv(launch.EnvExecutorID),
		Host:    os.Getenv(launch.EnvHost),
		Cores:   cores,
		Profile: profile,
		LogURLs: logURLs(os.Getenv(launch.EnvLogURL)),
		Prepare: prepareTasks(logger),

		Resources: resources,

		Decommission: leave,
		Logger:       logger,
	}
	return executorbackend.Run(ctx, options, os.Getenv(launch.EnvDriver), pass)
}

// handedResources are the addresses that a standalone worker gives the executor
// of each further resource; nil where it is for the executor to find them out.
func handedResources() (map[string][]string, error) {
	text, handed := os.LookupEnv(launch.EnvResources)
	if !handed {
		return nil, nil
	}
	resources := map[string][]string{}
	if err := json.Unmarshal([]byte(text), &resources); err != nil {
		return nil, fmt.Errorf("%s: %w: it is set by a standalone worker alone", launch.EnvResources, err)
	}
	return resources, nil
}

// prepareTasks gives tasks the file systems of the driver, as the user of the
// driver.
func prepareTasks(logger *slog.Logger) func(context.Context, *wire.BootstrapReply) (context.Context, func(), error) {
	return func(ctx context.Context, boot *wire.BootstrapReply) (context.Context, func(), error) {
		var hadoop *conf.Config // nil where the driver has none
		if values := boot.GetHadoop(); len(values) > 0 {
			hadoop = conf.FromMap(values)
		}
		files := storage.New(storage.Options{Hadoop: hadoop, User: boot.GetUser(), Logger: logger})
		end := func() {
			if err := files.Close(); err != nil {
				logger.Debug("closing HDFS", "error", err)
			}
		}
		return storage.With(ctx, files), end, nil
	}
}

func logURLs(page string) map[string]string {
	if page == "" {
		return nil
	}
	return map[string]string{"stdout": page + "/stdout", "stderr": page + "/stderr"}
}

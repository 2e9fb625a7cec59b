package role

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/shuffle"
	"github.com/bobbin-yarn/bobbin/storage"
)

// runExecutor runs an executor until the driver stops it, and returns the exit code.
func runExecutor() int {
	logger, configure := logging.NewConfigurable(os.Stderr)
	slog.SetDefault(logger)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	err := serveExecutor(ctx, logger, configure)
	switch {
	case ctx.Err() != nil:
		logger.Info("a signal ended the executor")
		return am.ExitTerminated
	case err != nil:
		logger.Error("executor ended", "error", err)
		return executorbackend.ExitCode(err)
	}
	return 0
}

func serveExecutor(ctx context.Context, logger *slog.Logger, configure func(*config.Config)) error {
	cores, err := strconv.Atoi(os.Getenv(launch.EnvCores))
	if err != nil {
		return fmt.Errorf("%s: %w: an executor is started by its ApplicationMaster", launch.EnvCores, err)
	}
	profile := 0 // id of the executor's resource profile; 0 is the default profile
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
		return fmt.Errorf("the container's credentials have no secret for the driver")
	}
	memory := int64(0)
	if text, set := os.LookupEnv(launch.EnvMemory); set {
		if memory, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("%s: %w", launch.EnvMemory, err)
		}
	}
	heapProfile := ""
	if logs, _, _ := strings.Cut(os.Getenv("LOG_DIRS"), ","); logs != "" {
		heapProfile = filepath.Join(logs, launch.HeapProfile)
	}
	resources, err := resourcesFromWorker()
	if err != nil {
		return err
	}
	nodes, err := shuffleNodes(pass)
	if err != nil {
		return err
	}
	decommission, stopListening := decommissionRequests()
	defer stopListening()
	tokens := &taskTokens{initial: credentials}
	options := executorbackend.Options{
		ID:      os.Getenv(launch.EnvExecutorID),
		Host:    os.Getenv(launch.EnvHost),
		Cores:   cores,
		Profile: profile,
		LogURLs: logURLs(os.Getenv(launch.EnvLogURL)),

		MemoryLimit: memory,
		HeapProfile: heapProfile,

		PrepareTasks: prepareTasks(tokens, logger, configure),

		Resources:    resources,
		ShuffleNodes: nodes,

		Decommission: decommission,
		Credentials:  tokens.replace,
		Logger:       logger,
	}
	return executorbackend.Run(ctx, options, os.Getenv(launch.EnvDriver), pass)
}

// shuffleNodes returns the options for the shuffle services of nodes. It returns nil if this
// process runs neither on YARN nor on a standalone worker. An executor whose own node has no
// shuffle service can still fetch map outputs from the services of other nodes.
func shuffleNodes(pass []byte) (*shuffle.NodeOptions, error) {
	setting, given := os.LookupEnv(launch.EnvShuffleService)
	nodes := &shuffle.NodeOptions{Secret: pass, Required: setting == config.ShuffleServiceRequired}
	if application, standalone := os.LookupEnv(launch.EnvApplication); standalone {
		nodes.Application = application
		if address, has := os.LookupEnv(launch.EnvShuffleAddress); has {
			nodes.Address, nodes.Directories = address, []string{os.Getenv(launch.EnvShuffleDirectory)}
		}
		return nodes, nil
	}
	text, onYARN := os.LookupEnv("CONTAINER_ID")
	if !onYARN {
		return nil, nil
	}
	container, err := yarn.ParseContainerID(text)
	if err != nil {
		return nil, fmt.Errorf("CONTAINER_ID: %w: only YARN may set it", err)
	}
	nodes.Application = container.Attempt.Application.String()
	if encoded, has := os.LookupEnv(shufflehandler.EnvPort); given && has {
		port, err := shufflehandler.ParsePort(encoded)
		if err != nil {
			return nil, err
		}
		nodes.Address = net.JoinHostPort(os.Getenv(launch.EnvHost), strconv.Itoa(port))
		nodes.Directories = strings.Split(os.Getenv("LOCAL_DIRS"), ",")
	}
	return nodes, nil
}

// resourcesFromWorker returns the resource addresses, by resource name, that a standalone worker
// assigned to this executor. On YARN it returns nil, because the executor discovers the addresses
// itself.
func resourcesFromWorker() (map[string][]string, error) {
	text, given := os.LookupEnv(launch.EnvResources)
	if !given {
		return nil, nil
	}
	resources := map[string][]string{}
	if err := json.Unmarshal([]byte(text), &resources); err != nil {
		return nil, fmt.Errorf("%s: %w: only a standalone worker may set it", launch.EnvResources, err)
	}
	return resources, nil
}

// taskTokens are the delegation tokens with which tasks access file systems.
type taskTokens struct {
	initial *security.Credentials // from the container's token file
	files   *storage.Files        // set by prepareTasks
}

// replace replaces the tokens of tasks by tokens from the driver, encoded as a Hadoop credentials
// file.
func (t *taskTokens) replace(encoded []byte) error {
	tokens, err := security.ReadCredentials(bytes.NewReader(encoded))
	if err == nil {
		t.files.SetTokens(tokens)
	}
	return err
}

// prepareTasks returns a function that adds the file systems to the context of tasks, and
// configures the logger. The file systems use the Hadoop configuration and the user in the driver's
// reply.
func prepareTasks(tokens *taskTokens, logger *slog.Logger, configure func(*config.Config)) func(context.Context, *wire.BootstrapReply) (context.Context, func(), error) {
	return func(ctx context.Context, boot *wire.BootstrapReply) (context.Context, func(), error) {
		settings, err := config.FromMap(boot.GetProperties())
		if err != nil {
			return nil, nil, err
		}
		configure(settings)
		if err := inheritSpan(settings); err != nil {
			return nil, nil, err
		}
		var hadoop *conf.Config // nil if the driver has no Hadoop configuration
		if values := boot.GetHadoop(); len(values) > 0 {
			hadoop = conf.FromMap(values)
		}
		files := storage.New(storage.Options{Hadoop: hadoop, User: boot.GetUser(), Tokens: tokens.initial, Logger: logger})
		tokens.files = files
		if newer := boot.GetCredentials(); newer != nil {
			if err := tokens.replace(newer.GetContent()); err != nil {
				return nil, nil, errors.Join(err, files.Close())
			}
		}
		closeFiles := func() {
			if err := files.Close(); err != nil {
				logger.Debug("closing HDFS", "error", err)
			}
		}
		return storage.With(ctx, files), closeFiles, nil
	}
}

func logURLs(page string) map[string]string {
	if page == "" {
		return nil
	}
	return map[string]string{"stdout": page + "/stdout", "stderr": page + "/stderr"}
}

// decommissionRequests returns a channel that receives a reason when this process receives
// decommissionSignal. The caller must call stop.
func decommissionRequests() (reasons <-chan string, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, decommissionSignal)
	received := make(chan string, 1)
	done := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		select {
		case <-signals:
			received <- "it was sent " + decommissionSignalName
		case <-done:
		}
	})
	return received, func() {
		signal.Stop(signals)
		close(done)
		listening.Wait()
	}
}

package am

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/storage"
)

// Attempt contains the parameters of an application attempt.
type Attempt struct {
	ID       yarn.AttemptID
	Host     string // name by which the cluster's nodes connect to this machine
	Bind     string // host name or IP address on which the servers of the attempt listen
	Spec     *launch.Spec
	Settings *config.Config
	Hadoop   *conf.Config
	Files    *storage.Files
	Logger   *slog.Logger

	logDirectory string // first log directory of the container; "" for none
	credentials  *security.Credentials
}

// attemptFromEnvironment returns the attempt that the environment variables of the container
// describe (ApplicationConstants.Environment). It decodes the launch.Spec in the container's
// credentials.
func attemptFromEnvironment() (*Attempt, error) {
	container, err := yarn.ParseContainerID(os.Getenv("CONTAINER_ID"))
	if err != nil {
		return nil, fmt.Errorf("CONTAINER_ID: %w: an ApplicationMaster is started by YARN, see yarn-submit", err)
	}
	credentials, err := security.CredentialsFromEnvironment()
	if err != nil {
		return nil, err
	}
	encoded, ok := credentials.Secret(launch.SecretSpec)
	if !ok {
		return nil, errors.New("the container's credentials do not hold the application: was it submitted by yarn-submit?")
	}
	spec, err := launch.DecodeSpec(encoded)
	if err != nil {
		return nil, err
	}
	settings, err := config.FromSubmission(spec.Properties, spec.Origins)
	if err != nil {
		return nil, fmt.Errorf("the submission's configuration: %w: was this program built with another version of bobbin than yarn-submit?", err)
	}
	host := os.Getenv("NM_HOST")
	if host == "" {
		return nil, errors.New("NM_HOST is not set: the NodeManager did not say on which node this is")
	}
	logs, _, _ := strings.Cut(os.Getenv("LOG_DIRS"), ",")
	return &Attempt{
		ID:           container.Attempt,
		Host:         host,
		Bind:         host,
		Spec:         spec,
		Settings:     settings,
		Hadoop:       conf.FromMap(spec.Hadoop),
		logDirectory: logs,
		credentials:  credentials,
	}, nil
}

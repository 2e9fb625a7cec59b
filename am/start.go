package am

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// start is what the ApplicationMaster knows when it starts.
type start struct {
	attempt      yarn.AttemptID
	host         string // this node, as YARN names it
	bind         string // the address on which to listen
	logDirectory string // "" where YARN keeps none
	credentials  *security.Credentials
	spec         *launch.Spec
	config       *config.Config
	hadoop       *conf.Config
}

// fromEnvironment reads what a NodeManager puts into a container's environment
// (ApplicationConstants.Environment) and what the submission sent along in the
// credentials.
func fromEnvironment() (*start, error) {
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
	settings, err := config.FromMap(spec.Properties)
	if err != nil {
		return nil, fmt.Errorf("the submission's configuration: %w: was this program built with another version of bobbin than yarn-submit?", err)
	}
	host := os.Getenv("NM_HOST")
	if host == "" {
		return nil, errors.New("NM_HOST is not set: the NodeManager did not say on which node this is")
	}
	logs, _, _ := strings.Cut(os.Getenv("LOG_DIRS"), ",")
	return &start{
		attempt:      container.Attempt,
		host:         host,
		bind:         host,
		logDirectory: logs,
		credentials:  credentials,
		spec:         spec,
		config:       settings,
		hadoop:       conf.FromMap(spec.Hadoop),
	}, nil
}

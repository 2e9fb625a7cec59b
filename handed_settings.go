package bobbin

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// handedSettings are those that yarn-submit handed over, or those of the
// environment.
func handedSettings() (*config.Config, error) {
	encoded, handed := os.LookupEnv(launch.EnvProperties)
	if !handed {
		return config.FromEnvironment()
	}
	// They are not for what the program starts itself.
	if err := os.Unsetenv(launch.EnvProperties); err != nil {
		return nil, err
	}
	properties := map[string]string{}
	if err := json.Unmarshal([]byte(encoded), &properties); err != nil {
		return nil, fmt.Errorf("%s: %w: it is set by yarn-submit alone", launch.EnvProperties, err)
	}
	return config.FromMap(properties)
}

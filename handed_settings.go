package bobbin

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// handedSettings returns the settings that yarn-submit handed over or, in a
// program that was started without it, those of the environment and the defaults
// file.
func handedSettings() (*config.Config, error) {
	encoded, handed := os.LookupEnv(launch.EnvProperties)
	if !handed {
		return config.FromEnvironment(config.Sources{})
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

// handedDriverID names this driver among those that a standalone cluster runs; ""
// where it was started elsewhere.
func handedDriverID() (string, error) {
	id := os.Getenv(launch.EnvDriverID)
	// An application that the program starts itself is not this driver's: it would
	// take the driver along when it is killed.
	return id, os.Unsetenv(launch.EnvDriverID)
}

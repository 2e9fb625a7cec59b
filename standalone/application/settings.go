package application

import (
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Properties returns the settings without the cluster's credentials, which must not be sent.
func Properties(settings *config.Config) map[string]string {
	properties := settings.Map()
	for _, key := range []config.Key[string]{
		config.AuthenticateSecret, config.AuthenticateSecretFile, config.SSLCertFile, config.SSLKeyFile, config.SSLCAFile,
	} {
		delete(properties, key.Name())
	}
	return properties
}

// DriverSettings returns a driver's settings. As in Spark, an application that does
// not set the number of executors or their cores gets as many as the cluster and
// cores.max allow. With dynamic allocation, the settings' defaults apply.
func DriverSettings(settings *config.Config) (*config.Config, error) {
	properties := Properties(settings)
	if config.DynamicAllocation.In(settings) {
		return config.FromSubmission(properties, settings.Origins())
	}
	if !settings.IsSet(config.ExecutorCores.Name()) {
		properties[config.ExecutorCores.Name()] = strconv.Itoa(WholeWorker)
	}
	if !settings.IsSet(config.ExecutorInstances.Name()) {
		properties[config.ExecutorInstances.Name()] = strconv.Itoa(Unlimited)
		if !settings.IsSet(config.RegisteredWait.Name()) {
			// The number of executors to wait for is not known.
			properties[config.RegisteredWait.Name()] = "0"
		}
	}
	return config.FromSubmission(properties, settings.Origins())
}

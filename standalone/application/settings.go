package application

import (
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Properties returns the settings without the cluster's credentials, which must not be sent
// over the network.
func Properties(settings *config.Config) map[string]string {
	properties := settings.Map()
	for _, key := range []config.Key[string]{
		config.AuthenticateSecret, config.AuthenticateSecretFile, config.SSLCertFile, config.SSLKeyFile, config.SSLCAFile,
	} {
		delete(properties, key.Name())
	}
	return properties
}

// DriverSettings returns the settings of a driver on a standalone cluster. If the application
// does not set the number of executors or their cores, it requests as many as the cluster and
// cores.max allow, as in Spark. With dynamic allocation, the usual defaults apply.
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
			// The number of executors is not known in advance, so do not wait for them.
			properties[config.RegisteredWait.Name()] = "0"
		}
	}
	return config.FromSubmission(properties, settings.Origins())
}

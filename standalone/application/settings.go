package application

import (
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Properties are what of the settings goes to other machines: all but what lets
// a process join the cluster, of which each machine has its own.
func Properties(settings *config.Config) map[string]string {
	properties := settings.Map()
	for _, key := range []config.Key[string]{
		config.AuthenticateSecret, config.AuthenticateSecretFile, config.SSLCertFile, config.SSLKeyFile, config.SSLCAFile,
	} {
		delete(properties, key.Name())
	}
	return properties
}

// DriverSettings are the settings of a driver whose executors are of a standalone
// cluster. As in Spark, where they do not say how many executors there shall be,
// or of how many cores, these are as many as the cluster and cores.max let there
// be; with dynamic allocation the numbers are those that it reckons with.
func DriverSettings(settings *config.Config) (*config.Config, error) {
	properties := Properties(settings)
	if config.DynamicAllocation.In(settings) {
		return config.FromMap(properties)
	}
	if !settings.IsSet(config.ExecutorCores.Name()) {
		properties[config.ExecutorCores.Name()] = strconv.Itoa(WholeWorker)
	}
	if !settings.IsSet(config.ExecutorCount.Name()) {
		properties[config.ExecutorCount.Name()] = strconv.Itoa(Unlimited)
		if !settings.IsSet(config.RegisteredWait.Name()) {
			// Nobody knows when all have come.
			properties[config.RegisteredWait.Name()] = "0"
		}
	}
	return config.FromMap(properties)
}

package client

import (
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// Driver is a driver that runs in this process, as the ApplicationMaster and
// the executors reach it.
type Driver struct {
	Address string // host:port
	Pass    []byte // what they join by, of identity.Identity
}

// unmanaged reports whether the ApplicationMaster runs in this process too.
func unmanaged(settings *config.Config) bool {
	return config.ClientMode(settings) && config.UnmanagedAM.In(settings)
}

// toClientMode makes an ApplicationMaster of a submission that launches
// executors for a driver in this process, or one that is in this process itself.
func (r *request) toClientMode(context *yarnrest.SubmissionContext) {
	if unmanaged(r.settings) {
		context.UnmanagedAM = true
		context.AM = yarnrest.ContainerSpec{ACLs: context.AM.ACLs}
		return
	}
	environment := context.AM.Environment
	environment[launch.EnvRole] = string(launch.RoleLauncher)
	environment[launch.EnvDriver] = r.driver.Address
	context.AM.Secrets[launch.SecretDriver] = r.driver.Pass
	// The arguments are the driver's.
	context.AM.Commands = []string{launch.ShellCommand(r.command[:1])}
}

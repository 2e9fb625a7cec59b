package am

import (
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// executorContexts makes executors' ContainerLaunchContexts. The common part is encoded
// once for each version of the delegation tokens.
type executorContexts struct {
	common yarn.ContainerLaunchContext // without tokens and without the shuffle service's data
	// shuffleService is the setting shuffle.service. If it is auto or required, NodeManagers
	// serve map outputs.
	shuffleService string
	pass           []byte            // secret with which executors authenticate to the driver
	env            map[string]string // variables set by executorEnv.*
	user           string
	scheme         string // of the NodeManagers' web pages: http or https

	// submitted has the submission's tokens. Containers that are started before
	// submittedUntil get these tokens, even if there are newer ones: a NodeManager
	// aggregates an application's logs with the first tokens that it gets, and the
	// ResourceManager renews only the submission's. submittedUntil is zero if these do not
	// end.
	submitted      *sharedLaunches
	submittedUntil time.Time
	renewed        atomic.Pointer[sharedLaunches] // has the newest tokens; nil while the submission's tokens are the newest
}

// sharedLaunches are the common parts of launch contexts with the same tokens: without and
// with the shuffle service's data.
type sharedLaunches struct {
	plain   *yarn.SharedLaunch
	shuffle *yarn.SharedLaunch // for nodes that may have the service; nil if the setting is off
}

// newExecutorContexts prepares launch contexts for executors that connect to the
// driver at address with the secret pass, which goes into the containers'
// credentials.
func newExecutorContexts(attempt *Attempt, address string, pass []byte) (*executorContexts, error) {
	fromSettings := config.ExecutorEnv.In(attempt.Settings)
	env := maps.Clone(fromSettings)
	env[launch.EnvRole] = string(launch.RoleExecutor)
	env[launch.EnvDriver] = address
	env["HADOOP_USER_NAME"] = attempt.Spec.User
	c := &executorContexts{
		common: yarn.ContainerLaunchContext{
			LocalResources: localResources(attempt.Spec.Resources),
			Env:            escaped(env),
			Commands:       []string{launch.ShellCommand(attempt.Spec.Command[:1])},
			ACLs:           acls(attempt.Settings),
		},
		shuffleService: config.ShuffleService.In(attempt.Settings),
		pass:           pass, env: fromSettings, user: attempt.Spec.User, scheme: "http",
	}
	if attempt.Hadoop.HTTPSOnly() {
		c.scheme = "https"
	}
	c.submittedUntil = tokensUsableUntil(attempt.credentials)
	var err error
	c.submitted, err = c.sharedWithTokens(attempt.credentials)
	return c, err
}

// sharedWithTokens returns the common part with tokens, which may be nil.
func (c *executorContexts) sharedWithTokens(tokens *security.Credentials) (*sharedLaunches, error) {
	credentials := &security.Credentials{}
	credentials.SetSecret(launch.SecretDriver, c.pass)
	// Executors get the tokens of file systems, and never the ApplicationMaster's own.
	for alias, token := range hdfsTokens(tokens) {
		credentials.SetToken(alias, token)
	}
	common := c.common
	var err error
	if common.Tokens, err = credentials.Encode(security.Writable); err != nil {
		return nil, err
	}
	shared := &sharedLaunches{}
	if shared.plain, err = yarn.NewSharedLaunch(common); err != nil || c.shuffleService == config.ShuffleServiceOff {
		return shared, err
	}
	common.Env = maps.Clone(common.Env)
	common.Env[launch.EnvShuffleService] = c.shuffleService
	common.ServiceData = map[string][]byte{shufflehandler.ServiceName: shufflehandler.ServiceData(shuffle.ServicePassword(c.pass))}
	shared.shuffle, err = yarn.NewSharedLaunch(common)
	return shared, err
}

// renew sets the newest tokens, for the containers that are started after submittedUntil.
func (c *executorContexts) renew(tokens *security.Credentials) error {
	shared, err := c.sharedWithTokens(tokens)
	if err == nil {
		c.renewed.Store(shared)
	}
	return err
}

// shared returns the common part for a container that is started now.
func (c *executorContexts) shared(executor launcher.Executor) *yarn.SharedLaunch {
	launches := c.submitted
	if renewed := c.renewed.Load(); renewed != nil && !c.submittedUntil.IsZero() && !time.Now().Before(c.submittedUntil) {
		launches = renewed
	}
	if launches.shuffle == nil || executor.NoAuxService && c.shuffleService != config.ShuffleServiceRequired {
		return launches.plain
	}
	return launches.shuffle
}

func (c *executorContexts) launchContext(executor launcher.Executor) yarn.ContainerLaunchContext {
	container, profile := executor.Container, executor.Profile
	env := launch.GoLimits(profile.Cores, profile.Memory)
	for name := range env {
		if _, set := c.env[name]; set {
			delete(env, name)
		}
	}
	env[launch.EnvExecutorID] = executor.ID
	env[launch.EnvProfile] = strconv.Itoa(profile.ID)
	env[launch.EnvCores] = strconv.Itoa(profile.Cores)
	env[launch.EnvMemory] = strconv.FormatInt(int64(profile.Memory+profile.Overhead), 10)
	env[launch.EnvHost] = container.Node.Host
	env[launch.EnvLogURL] = launch.LogURL(c.scheme, container.NodeHTTPAddress, container.ID.String(), c.user)
	return yarn.ContainerLaunchContext{Env: escaped(env), Shared: c.shared(executor)}
}

// escaped replaces each value in env by its launch.EnvironmentValue, and returns env.
func escaped(env map[string]string) map[string]string {
	for name, value := range env {
		env[name] = launch.EnvironmentValue(value)
	}
	return env
}

// acls returns the users and groups, besides the submitter and the administrators,
// that may view or modify the application.
func acls(settings *config.Config) map[yarn.Access]string {
	lists := map[yarn.Access]string{}
	view, modify := launch.ACLs(settings)
	if view != "" {
		lists[yarn.ViewAccess] = view
	}
	if modify != "" {
		lists[yarn.ModifyAccess] = modify
	}
	return lists
}

func localResources(resources []launch.LocalResource) map[string]yarn.LocalResource {
	local := make(map[string]yarn.LocalResource, len(resources))
	for _, resource := range resources {
		converted := yarn.LocalResource{
			URL:        resource.URL,
			Size:       resource.Size,
			Timestamp:  resource.Timestamp,
			Type:       yarn.FileResource,
			Visibility: yarn.PrivateVisibility,
		}
		if resource.Archive {
			converted.Type = yarn.ArchiveResource
		}
		local[resource.Name] = converted
	}
	return local
}

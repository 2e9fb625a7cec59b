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
	"github.com/bobbin-yarn/bobbin/storage"
)

// executorContexts creates the ContainerLaunchContexts of executors. The part that all executors
// share is encoded once for each version of the delegation tokens.
type executorContexts struct {
	common yarn.ContainerLaunchContext // shared part, without tokens and without data for the shuffle service
	pass   []byte                      // secret with which executors authenticate to the driver
	env    map[string]string           // environment variables from executorEnv.*
	user   string
	scheme string // URL scheme of the NodeManagers' web pages: http or https

	// submitted contains the tokens of the submission. Containers that are started before
	// submittedUntil get these tokens even if there are newer ones, for two reasons: a NodeManager
	// aggregates an application's logs with the first tokens that it receives, and the
	// ResourceManager renews only the submission's tokens. submittedUntil is zero if the
	// submission's tokens do not expire.
	submitted      *sharedLaunches
	submittedUntil time.Time
	renewed        atomic.Pointer[sharedLaunches] // contains the newest tokens; nil if these are the submission's
}

// sharedLaunches are the shared parts of launch contexts with the same tokens.
type sharedLaunches struct {
	plain   *yarn.SharedLaunch
	shuffle *yarn.SharedLaunch // with data for the shuffle service, for nodes that may have it; the same as plain if shuffle.service is off
}

// newExecutorContexts prepares launch contexts for executors. address is the host:port of the
// driver. pass is the secret with which executors authenticate to the driver; the credentials of
// their containers contain it.
func newExecutorContexts(attempt *Attempt, address string, pass []byte) (*executorContexts, error) {
	fromSettings := config.ExecutorEnv.In(attempt.Settings)
	env := maps.Clone(fromSettings)
	env[launch.EnvRole] = string(launch.RoleExecutor)
	env[launch.EnvDriver] = address
	env["HADOOP_USER_NAME"] = attempt.Spec.User
	if setting := config.ShuffleService.In(attempt.Settings); setting != config.ShuffleServiceOff {
		env[launch.EnvShuffleService] = setting
	}
	c := &executorContexts{
		common: yarn.ContainerLaunchContext{
			LocalResources: localResources(attempt.Spec.Resources),
			Env:            escaped(env),
			Commands:       []string{launch.ShellCommand(attempt.Spec.Command[:1])},
			ACLs:           acls(attempt.Settings),
		},
		pass: pass, env: fromSettings, user: attempt.Spec.User, scheme: "http",
	}
	if attempt.Hadoop.HTTPSOnly() {
		c.scheme = "https"
	}
	c.submittedUntil = storage.TokensUsableUntil(attempt.credentials)
	var err error
	c.submitted, err = c.sharedWithTokens(attempt.credentials)
	return c, err
}

// sharedWithTokens returns the shared parts with tokens, which may be nil.
func (c *executorContexts) sharedWithTokens(tokens *security.Credentials) (*sharedLaunches, error) {
	credentials := &security.Credentials{}
	credentials.SetSecret(launch.SecretDriver, c.pass)
	// Executors get only the tokens of file systems, not the ApplicationMaster's AMRMToken.
	for alias, token := range hdfsTokens(tokens) {
		credentials.SetToken(alias, token)
	}
	common := c.common
	var err error
	if common.Tokens, err = credentials.Encode(security.Writable); err != nil {
		return nil, err
	}
	shared := &sharedLaunches{}
	shared.plain, err = yarn.NewSharedLaunch(common)
	if _, uses := common.Env[launch.EnvShuffleService]; err != nil || !uses {
		shared.shuffle = shared.plain
		return shared, err
	}
	common.ServiceData = map[string][]byte{shufflehandler.ServiceName: shufflehandler.ServiceData(shuffle.ServicePassword(c.pass))}
	shared.shuffle, err = yarn.NewSharedLaunch(common)
	return shared, err
}

// renew sets the newest tokens. Containers that are started after submittedUntil get them.
func (c *executorContexts) renew(tokens *security.Credentials) error {
	shared, err := c.sharedWithTokens(tokens)
	if err == nil {
		c.renewed.Store(shared)
	}
	return err
}

// usesRenewed reports whether executors that are started now get renewed tokens, if there are any.
func (c *executorContexts) usesRenewed() bool {
	return !c.submittedUntil.IsZero() && !time.Now().Before(c.submittedUntil)
}

// shared returns the shared part for an executor that is started now.
func (c *executorContexts) shared(executor launcher.Executor) *yarn.SharedLaunch {
	launches := c.submitted
	if renewed := c.renewed.Load(); renewed != nil && c.usesRenewed() {
		launches = renewed
	}
	if executor.NoAuxService {
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

// escaped replaces each value in env by the result of launch.EnvironmentValue, and returns env.
func escaped(env map[string]string) map[string]string {
	for name, value := range env {
		env[name] = launch.EnvironmentValue(value)
	}
	return env
}

// acls returns the users and groups who may view or modify the application, in addition to the
// submitter and the cluster's administrators.
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

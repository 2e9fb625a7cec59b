package am

import (
	"maps"
	"strconv"

	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// executorContexts makes executors' ContainerLaunchContexts. The common part is encoded once.
type executorContexts struct {
	shared *yarn.SharedLaunch
	env    map[string]string // variables set by executorEnv.*
	user   string
	scheme string // of the NodeManagers' web pages: http or https
}

// newExecutorContexts prepares launch contexts for executors that connect to the
// driver at address with the secret pass, which goes into the containers'
// credentials.
func newExecutorContexts(attempt *Attempt, address string, pass []byte) (*executorContexts, error) {
	credentials := &security.Credentials{}
	credentials.SetSecret(launch.SecretDriver, pass)
	// Executors get the tokens of file systems, and never the ApplicationMaster's own.
	if attempt.credentials != nil {
		for alias, token := range attempt.credentials.Tokens() {
			if token.Kind == security.KindHDFS {
				credentials.SetToken(alias, token)
			}
		}
	}
	tokens, err := credentials.Encode(security.Writable)
	if err != nil {
		return nil, err
	}
	fromSettings := config.ExecutorEnv.In(attempt.Settings)
	env := maps.Clone(fromSettings)
	env[launch.EnvRole] = string(launch.RoleExecutor)
	env[launch.EnvDriver] = address
	env["HADOOP_USER_NAME"] = attempt.Spec.User
	shared, err := yarn.NewSharedLaunch(yarn.ContainerLaunchContext{
		LocalResources: localResources(attempt.Spec.Resources),
		Env:            escaped(env),
		Commands:       []string{launch.ShellCommand(attempt.Spec.Command[:1])},
		Tokens:         tokens,
		ACLs:           acls(attempt.Settings),
	})
	if err != nil {
		return nil, err
	}
	scheme := "http"
	if attempt.Hadoop.HTTPSOnly() {
		scheme = "https"
	}
	return &executorContexts{shared: shared, env: fromSettings, user: attempt.Spec.User, scheme: scheme}, nil
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
	env[launch.EnvHost] = container.Node.Host
	env[launch.EnvLogURL] = launch.LogURL(c.scheme, container.NodeHTTPAddress, container.ID.String(), c.user)
	return yarn.ContainerLaunchContext{Env: escaped(env), Shared: c.shared}
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

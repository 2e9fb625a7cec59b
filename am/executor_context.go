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

// executorContexts makes the launch contexts of executors, which differ in
// little more than their ids.
type executorContexts struct {
	shared *yarn.SharedLaunch
	own    map[string]string // the user's variables
	user   string
	scheme string // of the NodeManagers' pages
}

// newExecutorContexts prepares contexts for executors that join the driver at
// address. What they join by goes into their credentials, where nobody but the
// user and the NodeManager can read it.
func newExecutorContexts(attempt *Attempt, address string, pass []byte) (*executorContexts, error) {
	credentials := &security.Credentials{}
	credentials.SetSecret(launch.SecretDriver, pass)
	tokens, err := credentials.Encode(security.Writable)
	if err != nil {
		return nil, err
	}
	own := config.ExecutorEnv.In(attempt.Settings)
	env := maps.Clone(own)
	env[launch.EnvRole] = string(launch.RoleExecutor)
	env[launch.EnvDriver] = address
	env["HADOOP_USER_NAME"] = attempt.Spec.User
	shared, err := yarn.NewSharedLaunch(yarn.ContainerLaunchContext{
		LocalResources: localResources(attempt.Spec.Resources),
		Env:            written(env),
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
	return &executorContexts{shared: shared, own: own, user: attempt.Spec.User, scheme: scheme}, nil
}

// of is the launch context of one executor.
func (c *executorContexts) of(executor launcher.Executor) yarn.ContainerLaunchContext {
	container, kind := executor.Container, executor.Profile
	env := launch.GoLimits(kind.Cores, kind.Memory)
	for name := range env {
		if _, set := c.own[name]; set {
			delete(env, name) // the user knows better
		}
	}
	env[launch.EnvExecutorID] = executor.ID
	env[launch.EnvProfile] = strconv.Itoa(kind.ID)
	env[launch.EnvCores] = strconv.Itoa(kind.Cores)
	env[launch.EnvHost] = container.Node.Host
	env[launch.EnvLogURL] = launch.LogURL(c.scheme, container.NodeHTTPAddress, container.ID.String(), c.user)
	return yarn.ContainerLaunchContext{Env: written(env), Shared: c.shared}
}

// written gives every value the form in which it survives the NodeManager's
// script.
func written(env map[string]string) map[string]string {
	for name, value := range env {
		env[name] = launch.EnvironmentValue(value)
	}
	return env
}

// acls lets others than the user and the administrators see and end containers.
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

func localResources(resources []launch.Resource) map[string]yarn.LocalResource {
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

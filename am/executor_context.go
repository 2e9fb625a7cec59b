package am

import (
	"maps"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// executorContexts makes the launch contexts of executors, which differ in
// little more than their ids.
type executorContexts struct {
	settings  *config.Config
	resources map[string]yarn.LocalResource
	command   string
	tokens    []byte
	env       map[string]string // common to all
	user      string
	scheme    string // of the NodeManagers' pages
}

// newExecutorContexts prepares contexts for executors that join the driver at
// address. What they join by goes into their credentials, where nobody but the
// user and the NodeManager can read it.
func newExecutorContexts(start *start, address string, pass []byte) (*executorContexts, error) {
	credentials := &security.Credentials{}
	credentials.SetSecret(launch.SecretDriver, pass)
	tokens, err := credentials.Encode(security.Writable)
	if err != nil {
		return nil, err
	}
	env := launch.GoLimits(config.ExecutorCores.In(start.config), config.ExecutorMem.In(start.config))
	maps.Copy(env, config.ExecutorEnv.In(start.config))
	env[launch.EnvRole] = string(launch.RoleExecutor)
	env[launch.EnvDriver] = address
	env[launch.EnvCores] = strconv.Itoa(config.ExecutorCores.In(start.config))
	env["HADOOP_USER_NAME"] = start.spec.User
	scheme := "http"
	if start.hadoop.HTTPSOnly() {
		scheme = "https"
	}
	return &executorContexts{
		settings:  start.config,
		resources: localResources(start.spec.Resources),
		command:   launch.ShellCommand(start.spec.Command[:1]),
		tokens:    tokens,
		env:       env,
		user:      start.spec.User,
		scheme:    scheme,
	}, nil
}

// of is the launch context of one executor.
func (c *executorContexts) of(executor *executor) yarn.ContainerLaunchContext {
	env := maps.Clone(c.env)
	node := executor.container.Node.Host
	env[launch.EnvExecutorID] = executor.id
	env[launch.EnvHost] = node
	env[launch.EnvLogURL] = launch.LogURL(c.scheme, executor.container.NodeHTTPAddress, executor.container.ID.String(), c.user)
	for name, value := range env {
		env[name] = launch.EnvironmentValue(value)
	}
	return yarn.ContainerLaunchContext{
		LocalResources: c.resources,
		Env:            env,
		Commands:       []string{c.command},
		Tokens:         c.tokens,
	}
}

// resource is the size of an executor's container.
func (c *executorContexts) resource() yarn.Resource {
	memory := config.ExecutorMem.In(c.settings) + config.ExecutorOverhead.In(c.settings)
	return yarn.Resource{MemoryMB: memory.MiB(), VCores: int32(config.ExecutorCores.In(c.settings))}
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
		if resource.Public {
			converted.Visibility = yarn.PublicVisibility
		}
		local[resource.Name] = converted
	}
	return local
}

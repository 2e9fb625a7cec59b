package client

import (
	"maps"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// request is a complete application submission.
type request struct {
	settings   *config.Config
	checked    *preflightAnswer
	user       string
	command    []string // path of the program in the working directory, and its arguments
	resources  []launch.LocalResource
	hadoop     map[string]string
	tokens     map[string]string     // encoded delegation tokens, by file system
	keepTokens bool                  // YARN must not cancel the tokens, because other applications may use them
	keytab     *launch.LocalResource // keytab, which is localized only for the ApplicationMaster; nil for none
	principal  string                // principal of the keys in the keytab
	staging    string                // URI of the application's staging directory; "" for none
	pools      string                // content of the file that describes the scheduling pools; "" for none
	cacheDirs  []string              // URIs of the cache entries that the application uses
	driver     *Driver               // driver in this process; nil in cluster mode or with an unmanaged ApplicationMaster
}

func (r *request) name() string {
	if name := config.AppName.In(r.settings); name != "" {
		return name
	}
	return strings.TrimPrefix(r.command[0], "./")
}

func (r *request) spec() *launch.Spec {
	properties := r.settings.Map()
	// Pass the chosen queue, which may differ from the setting.
	properties[config.Queue.Name()] = r.checked.queue
	return &launch.Spec{
		Name: r.name(), User: r.user, Properties: properties, Origins: r.settings.Origins(), Hadoop: r.hadoop, Command: r.command,
		Resources: r.resources, StagingDir: r.staging, CacheDirs: r.cacheDirs, Pools: r.pools, Racks: r.checked.racks, Nodes: r.checked.nodes,
		Login: r.login(),
	}
}

// context returns the submission context, as the ResourceManager expects it.
func (r *request) context() (*yarnrest.SubmissionContext, error) {
	secret, err := r.spec().Encode()
	if err != nil {
		return nil, UsageError(err)
	}
	context := &yarnrest.SubmissionContext{
		ID: r.checked.applicationID, Name: r.name(), Queue: r.checked.queue, Type: config.AppType.In(r.settings),
		Tags: tagsOf(r.settings), MaxAttempts: config.MaxAttempts.In(r.settings),
		AttemptFailuresValidityInterval: config.AttemptValidity.In(r.settings),
		Resource:                        resourceOf(profile.Master(r.settings)),
		AMNodeLabelExpression:           config.AMLabel.In(r.settings),
		LogAggregation:                  logAggregation(r.settings),
		KeepTokens:                      r.keepTokens,
		AM: yarnrest.ContainerSpec{
			LocalResources: localResources(r.resources),
			Environment:    amEnvironment(r.settings, r.user),
			Commands:       []string{launch.ShellCommand(r.command)},
			Secrets:        map[string][]byte{launch.SecretSpec: secret},
			Tokens:         r.tokens,
			ACLs:           acls(r.settings),
		},
	}
	if r.keytab != nil {
		// With this visibility, the NodeManager does not share the file with containers of other
		// applications.
		context.AM.LocalResources[r.keytab.Name] = yarnrest.LocalResource{
			URL: r.keytab.URL, Type: yarnrest.ResourceFile, Visibility: yarnrest.VisibilityApplication, Size: r.keytab.Size, Timestamp: r.keytab.Timestamp,
		}
	}
	if r.settings.IsSet(config.Priority.Name()) {
		priority := config.Priority.In(r.settings)
		context.Priority = &priority
	}
	if config.ClientMode(r.settings) {
		r.toClientMode(context)
	}
	return context, nil
}

func localResources(resources []launch.LocalResource) map[string]yarnrest.LocalResource {
	local := make(map[string]yarnrest.LocalResource, len(resources))
	for _, resource := range resources {
		kind := yarnrest.ResourceFile
		if resource.Archive {
			kind = yarnrest.ResourceArchive
		}
		local[resource.Name] = yarnrest.LocalResource{
			URL: resource.URL, Type: kind, Visibility: yarnrest.VisibilityPrivate, Size: resource.Size, Timestamp: resource.Timestamp,
		}
	}
	return local
}

// amEnvironment returns the environment variables of the ApplicationMaster's container.
func amEnvironment(settings *config.Config, user string) map[string]string {
	master := profile.Master(settings)
	environment := launch.GoLimits(master.Cores, master.Memory)
	maps.Copy(environment, config.AMEnv.In(settings))
	environment["HADOOP_USER_NAME"] = user
	environment[launch.EnvRole] = string(launch.RoleAM)
	for name, value := range environment {
		environment[name] = launch.EnvironmentValue(value)
	}
	return environment
}

// acls returns the users who may view and modify the application, in addition to its owner and the
// cluster's administrators.
func acls(settings *config.Config) map[string]string {
	lists := map[string]string{}
	view, modify := launch.ACLs(settings)
	if view != "" {
		lists[yarnrest.ACLView] = view
	}
	if modify != "" {
		lists[yarnrest.ACLModify] = modify
	}
	return lists
}

// logAggregation returns the patterns of log files to aggregate; nil for the cluster's own
// patterns.
func logAggregation(settings *config.Config) *yarnrest.LogAggregation {
	rules := yarnrest.LogAggregation{
		Include: config.LogInclude.In(settings), Exclude: config.LogExclude.In(settings),
		RolledInclude: config.RolledLogInclude.In(settings), RolledExclude: config.RolledLogExclude.In(settings),
	}
	if rules == (yarnrest.LogAggregation{}) {
		return nil
	}
	return &rules
}

// Driver is the address and the credentials of a driver in this process.
type Driver struct {
	Address string // host:port
	Pass    []byte // encoded identity.Identity, with which the ApplicationMaster and executors register
}

// unmanaged reports whether the ApplicationMaster runs in this process, without a container.
func unmanaged(settings *config.Config) bool {
	return config.ClientMode(settings) && config.UnmanagedAM.In(settings)
}

// toClientMode changes the submission context for a driver in this process. The container of the
// ApplicationMaster then only launches executors. An unmanaged ApplicationMaster has no container.
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
	// Omit the arguments, because only the driver uses them, and it runs in this process.
	context.AM.Commands = []string{launch.ShellCommand(r.command[:1])}
}

package client

import (
	"maps"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// request is an application that is ready to be submitted.
type request struct {
	settings   *config.Config
	checked    *preflightAnswer
	user       string
	command    []string // the program as named in the working directory, and its arguments
	resources  []launch.LocalResource
	hadoop     map[string]string
	tokens     map[string]string     // delegation tokens, encoded, by file system
	keepTokens bool                  // YARN must not cancel the tokens: they are not for this application alone
	keytab     *launch.LocalResource // for the ApplicationMaster alone; nil for none
	principal  string                // whose keys the keytab has
	staging    string                // URI of the application's own directory; "" for none
	pools      string                // content of the file that describes scheduling pools; "" for none
	cacheDirs  []string              // URIs of the cache entries that the application uses
	driver     *Driver               // the driver in this process; nil in cluster mode or with an unmanaged ApplicationMaster
}

func (r *request) name() string {
	if name := config.AppName.In(r.settings); name != "" {
		return name
	}
	return strings.TrimPrefix(r.command[0], "./")
}

func (r *request) spec() *launch.Spec {
	properties := r.settings.Map()
	// The ApplicationMaster must know the queue that was chosen.
	properties[config.Queue.Name()] = r.checked.queue
	return &launch.Spec{
		Name: r.name(), User: r.user, Properties: properties, Origins: r.settings.Origins(), Hadoop: r.hadoop, Command: r.command,
		Resources: r.resources, StagingDir: r.staging, CacheDirs: r.cacheDirs, Pools: r.pools, Racks: r.checked.racks, Nodes: r.checked.nodes,
		Login: r.login(),
	}
}

// context returns the submission context for the ResourceManager.
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
		// This visibility means that containers of other applications on the node do not share
		// it.
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

// amEnvironment returns the environment of the ApplicationMaster's container.
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

// acls returns the users who may view and modify the application, besides its owner
// and the administrators.
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

// logAggregation returns the patterns of log files to aggregate, or nil for the
// cluster's own rules.
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

// Driver says how to reach and authenticate to a driver in this process.
type Driver struct {
	Address string // host:port
	Pass    []byte // the credentials (identity.Identity) with which the ApplicationMaster and executors register
}

// unmanaged reports whether the ApplicationMaster runs in this process.
func unmanaged(settings *config.Config) bool {
	return config.ClientMode(settings) && config.UnmanagedAM.In(settings)
}

// toClientMode changes the submission context for a driver in this process. The
// ApplicationMaster's container then only launches executors. With an unmanaged
// ApplicationMaster there is no such container.
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
	// The arguments are for the driver, which runs in this process.
	context.AM.Commands = []string{launch.ShellCommand(r.command[:1])}
}

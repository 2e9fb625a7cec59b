// Package client submits programs to YARN and reports on applications.
//
// A submission ([Cluster.Submit], [Cluster.Start]) checks the program and the settings, stages
// files in HDFS, submits the application to the ResourceManager, polls the application until it has
// ended, and removes the staged files. Errors contain the exit status of the process, see
// [ExitCode]. Package client/logs reads logs.
package client

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// Cluster is one user's client of a YARN cluster. It is safe for concurrent use.
type Cluster struct {
	hadoop   *conf.Config
	identity *Identity
	user     string
	types    []string // application types that List selects
	rest     *yarnrest.Client
	apps     Applications
	log      *slog.Logger

	opening sync.Mutex
	rpc     *yarn.RMClient // set by the first call of manager; nil before
}

// Connect reads the environment's Hadoop configuration, in which the settings hadoop.* override
// keys. If the cluster requires Kerberos, Connect logs in. It sends no request to the cluster.
func Connect(settings *config.Config, log *slog.Logger) (*Cluster, error) {
	hadoop, err := conf.FromEnvironment(config.Hadoop.In(settings))
	if err != nil {
		return nil, UsageError(err)
	}
	return newCluster(hadoop, settings, log)
}

// HadoopConfig returns this machine's Hadoop configuration, in which the settings hadoop.* override
// keys. It returns nil if there is neither a configuration nor such a setting.
func HadoopConfig(settings *config.Config) (*conf.Config, error) {
	overrides := config.Hadoop.In(settings)
	hadoop, err := conf.FromEnvironment(overrides)
	switch {
	case !errors.Is(err, conf.ErrNotConfigured):
		return hadoop, err
	case len(overrides) > 0:
		return conf.FromMap(overrides), nil
	}
	return nil, nil
}

func newCluster(hadoop *conf.Config, settings *config.Config, log *slog.Logger) (*Cluster, error) {
	identity, err := Login(hadoop, settings)
	if err != nil {
		return nil, err
	}
	options := yarnrest.Options{Logger: log}
	if options.HTTP, err = identity.http(hadoop); err == nil {
		if !identity.Secure() {
			options.User = identity.User
		}
		c := &Cluster{hadoop: hadoop, identity: identity, user: identity.User, types: types(settings), log: log}
		if c.rest, err = yarnrest.FromConf(hadoop, options); err == nil {
			c.apps = c.rest
			if identity.Secure() {
				c.apps = &rpcApplications{manager: c.manager, nodes: c.rest.Nodes}
			}
			return c, nil
		}
	}
	identity.Close()
	return nil, UsageError(err)
}

// types returns the application types that List selects.
func types(settings *config.Config) []string {
	types := []string{config.DefaultAppType}
	if own := config.AppType.In(settings); own != config.DefaultAppType {
		types = append(types, own)
	}
	return types
}

// addresses returns the addresses of the ResourceManagers and NameNodes. It ignores configuration
// errors, because requests to these servers report them.
func (c *Cluster) addresses() []string {
	managers, _ := c.hadoop.ResourceManagers("yarn.resourcemanager.webapp.address")
	names, _ := c.hadoop.NameNodes(c.hadoop.DefaultFS())
	return append(managers, names...)
}

// Hadoop returns the Hadoop configuration of the cluster.
func (c *Cluster) Hadoop() *conf.Config { return c.hadoop }

// User returns the user as whom this process sends requests to the cluster.
func (c *Cluster) User() string { return c.user }

// REST returns a client of the ResourceManagers' REST API.
func (c *Cluster) REST() *yarnrest.Client { return c.rest }

// Applications returns a client for reports about the cluster's applications.
func (c *Cluster) Applications() Applications { return c.apps }

// Logger returns the logger given to Connect.
func (c *Cluster) Logger() *slog.Logger { return c.log }

// Close closes the connections to the cluster.
func (c *Cluster) Close() {
	c.rest.CloseIdleConnections()
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.rpc != nil {
		_ = c.rpc.Close() // RMClient.Close always returns nil
	}
	c.identity.Close()
}

// applicationID matches application ids, which contain the ResourceManager's start time and a
// number.
var applicationID = regexp.MustCompile(`^application_\d+_\d{4,}$`)

// CheckApplicationID returns a usage error if id does not have the form of an application id.
func CheckApplicationID(id string) error {
	if !applicationID.MatchString(id) {
		return UsageErrorf("%q is no application id: it looks like application_1700000000000_0001, see yarn-submit list", id)
	}
	return nil
}

// UnknownApplication gives err the exit status ExitCluster. If err is yarnrest.ErrNotFound, the
// result says that the ResourceManager does not know the application.
func UnknownApplication(id string, err error) error {
	var answer *yarnrest.RemoteError
	if errors.As(err, &answer) && errors.Is(err, yarnrest.ErrNotFound) {
		return RefusedError(&unknownError{id, answer})
	}
	return RefusedError(err)
}

// unknownError is the error for an application that the ResourceManager does not know. Its message
// omits the Java exception that the ResourceManager has returned.
type unknownError struct {
	id     string
	answer *yarnrest.RemoteError
}

func (u *unknownError) Error() string {
	manager := u.answer.URL
	if parsed, err := url.Parse(manager); err == nil {
		manager = parsed.Host
	}
	return fmt.Sprintf("the ResourceManager %s does not know %s: it forgets applications some time after their end, or when it starts anew; yarn-submit list names those that it knows",
		manager, u.id)
}

func (u *unknownError) Unwrap() error { return u.answer }

// WarnIfSilent prints a message after answerNotice if no ResourceManager has answered until then.
// The caller calls stop to cancel the message.
func (c *Cluster) WarnIfSilent(console *Console) (stop func()) {
	timer := time.AfterFunc(answerNotice, func() {
		if managers, _ := c.hadoop.ResourceManagers("yarn.resourcemanager.webapp.address"); !c.rest.HasAnswered() && !c.apps.HasAnswered() {
			console.Print("no answer yet, trying on: %s", strings.Join(managers, ", "))
		}
	})
	return func() { timer.Stop() }
}

package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// Applications returns reports about a cluster's applications. *yarnrest.Client implements it.
// Other implementations return the same errors as *yarnrest.Client.
type Applications interface {
	Application(ctx context.Context, id string) (*yarnrest.Application, error)
	Applications(ctx context.Context, filter yarnrest.Filter) ([]yarnrest.Application, error)
	State(ctx context.Context, id string) (yarnrest.ApplicationState, error)
	Attempts(ctx context.Context, id string) ([]yarnrest.ApplicationAttempt, error)
	Containers(ctx context.Context, id, attempt string) ([]yarnrest.Container, error)
	// HasAnswered reports whether a ResourceManager has answered.
	HasAnswered() bool
}

// rpcApplications implements Applications by RPCs to the ResourceManager. It is used on clusters
// with Kerberos, because their REST API usually does not authenticate callers, and so returns only
// public information.
type rpcApplications struct {
	manager func() (*yarn.RMClient, error)
	// nodes returns the cluster's nodes. RPCs do not return the address of the node's web server
	// for an ApplicationMaster that has ended, so it is looked up among the nodes.
	nodes    func(ctx context.Context, states ...string) ([]yarnrest.Node, error)
	answered atomic.Bool
}

func (a *rpcApplications) HasAnswered() bool { return a.answered.Load() }

// ask calls call with a client of the ResourceManager. It converts an error of call to the
// equivalent error of the REST API (see restError).
func (a *rpcApplications) ask(call func(manager *yarn.RMClient) error) error {
	manager, err := a.manager()
	if err != nil {
		return err
	}
	err = restError(call(manager))
	var silent *yarnrest.UnavailableError
	if !errors.As(err, &silent) {
		a.answered.Store(true)
	}
	return err
}

func (a *rpcApplications) Application(ctx context.Context, id string) (application *yarnrest.Application, err error) {
	parsed, err := yarn.ParseApplicationID(id)
	if err != nil {
		return nil, err
	}
	err = a.ask(func(manager *yarn.RMClient) error {
		report, err := manager.ApplicationReport(ctx, parsed)
		if err == nil {
			application = applicationOf(*report)
		}
		return err
	})
	return application, err
}

func (a *rpcApplications) State(ctx context.Context, id string) (yarnrest.ApplicationState, error) {
	application, err := a.Application(ctx, id)
	if err != nil {
		return "", err
	}
	return application.State, nil
}

func (a *rpcApplications) Applications(ctx context.Context, filter yarnrest.Filter) (applications []yarnrest.Application, err error) {
	request := yarn.ApplicationFilter{Types: filter.Types, Tags: filter.Tags}
	if filter.User != "" {
		request.Users = []string{filter.User}
	}
	if filter.Queue != "" {
		request.Queues = []string{filter.Queue}
	}
	for state := yarn.ApplicationNew; state <= yarn.ApplicationKilled; state++ {
		if slices.Contains(filter.States, stateOf(state)) {
			request.States = append(request.States, state)
		}
	}
	err = a.ask(func(manager *yarn.RMClient) error {
		reports, err := manager.Applications(ctx, request)
		for _, report := range reports {
			applications = append(applications, *applicationOf(report))
		}
		return err
	})
	return applications, err
}

func (a *rpcApplications) Attempts(ctx context.Context, id string) (attempts []yarnrest.ApplicationAttempt, err error) {
	parsed, err := yarn.ParseApplicationID(id)
	if err != nil {
		return nil, err
	}
	var reports []yarn.AttemptReport
	err = a.ask(func(manager *yarn.RMClient) (err error) {
		reports, err = manager.Attempts(ctx, parsed)
		return err
	})
	if err != nil {
		return nil, err
	}
	nodes, err := a.nodes(ctx)
	if err != nil {
		return nil, err
	}
	addresses := map[string]string{} // addresses of the nodes' web servers, by host
	for _, node := range nodes {
		addresses[node.Host] = node.HTTPAddress
	}
	for _, report := range reports {
		attempt := yarnrest.ApplicationAttempt{
			ID: report.ID.String(), Number: int(report.ID.Attempt), Started: report.Started, Finished: report.Finished,
			NodeHTTPAddress: addresses[report.Host],
		}
		if report.Container != (yarn.ContainerID{}) {
			attempt.ContainerID = report.Container.String()
		}
		if attempt.ContainerID != "" && attempt.NodeHTTPAddress == "" { // the ApplicationMaster of the attempt has not registered
			containers, err := a.Containers(ctx, id, attempt.ID)
			if err != nil && !errors.Is(err, yarnrest.ErrNotFound) {
				return nil, err
			}
			for _, container := range containers {
				if container.ID == attempt.ContainerID {
					attempt.NodeHTTPAddress = container.NodeHTTPAddress
				}
			}
		}
		attempts = append(attempts, attempt)
	}
	slices.SortFunc(attempts, func(x, y yarnrest.ApplicationAttempt) int { return x.Number - y.Number })
	return attempts, nil
}

func (a *rpcApplications) Containers(ctx context.Context, _, attempt string) (containers []yarnrest.Container, err error) {
	parsed, err := yarn.ParseAttemptID(attempt)
	if err != nil {
		return nil, err
	}
	err = a.ask(func(manager *yarn.RMClient) error {
		reports, err := manager.Containers(ctx, parsed)
		for _, report := range reports {
			containers = append(containers, yarnrest.Container{
				ID: report.ID.String(), Started: report.Started, NodeID: report.Node.String(), NodeHTTPAddress: report.HTTPAddress,
			})
		}
		return err
	})
	return containers, err
}

func stateOf(state yarn.ApplicationState) yarnrest.ApplicationState {
	return yarnrest.ApplicationState(strings.ReplaceAll(strings.ToUpper(state.String()), "-", "_"))
}

// applicationOf converts the application report of an RPC to the type of the REST API. It converts
// only the fields that this package uses.
func applicationOf(report yarn.ApplicationReport) *yarnrest.Application {
	const percent = 100
	application := &yarnrest.Application{
		ID: report.ID.String(), User: report.User, Name: report.Name, Queue: report.Queue, Type: report.Type, Tags: report.Tags,
		State: stateOf(report.State), FinalStatus: yarnrest.StatusUndefined, Progress: report.Progress * percent,
		TrackingURL: known(report.TrackingURL), Diagnostics: known(report.Diagnostics), AMHostHTTPAddress: known(report.Host),
		Started: report.Started, Launched: report.Launched, Finished: report.Finished, LogAggregationStatus: report.LogAggregation,
	}
	if report.Attempt.Attempt > 0 {
		application.AMContainerLogs = report.Attempt.String() // the REST API has a URL here, but RPCs only return the id of the attempt
	}
	switch report.FinalStatus {
	case yarn.FinalSucceeded:
		application.FinalStatus = yarnrest.StatusSucceeded
	case yarn.FinalFailed:
		application.FinalStatus = yarnrest.StatusFailed
	case yarn.FinalKilled:
		application.FinalStatus = yarnrest.StatusKilled
	}
	return application
}

// known returns text, or "" if text is "N/A". In RPCs, "N/A" means that the value is missing or
// that the caller may not read it.
func known(text string) string {
	if text == "N/A" {
		return ""
	}
	return text
}

// restError converts the error err of an RPC to the equivalent error of the REST API. If there is
// no equivalent, restError returns err. The conversion lets callers recognize two errors: the
// ResourceManager does not know the application, or no ResourceManager answers.
func restError(err error) error {
	var call *ipc.CallError
	var remote *ipc.RemoteError
	var lost *ipc.ConnectionError
	switch {
	case !errors.As(err, &call):
	case errors.Is(err, ipc.StandbyException), errors.Is(err, ipc.RetriableException), errors.As(err, &lost):
		return &yarnrest.UnavailableError{
			Service: "ResourceManager", Elapsed: call.Elapsed, Attempts: []yarnrest.Attempt{{Address: call.Address, Tries: call.Attempts, Err: call.Err}},
		}
	case errors.As(err, &remote):
		found := &yarnrest.RemoteError{Exception: remote.Class.Error(), JavaClass: string(remote.Class), Message: remote.Message, URL: call.Address}
		if errors.Is(found, yarnrest.ErrNotFound) {
			return found
		}
	}
	return err
}

package client

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// Status returns the report of an application. It fails if the ResourceManager does not know the
// application.
func (c *Cluster) Status(ctx context.Context, id string) (*Report, error) {
	if err := CheckApplicationID(id); err != nil {
		return nil, err
	}
	application, err := c.apps.Application(ctx, id)
	if err != nil {
		return nil, UnknownApplication(id, err)
	}
	if application.State.Ended() {
		report, _ := conclude(application, StateTimes{}) // the report contains the failure, so the error is not needed
		return report, nil
	}
	report := newReport(application, StateTimes{})
	if application.State == yarnrest.StateRunning {
		report.Progress = fetchProgress(ctx, c.rest, id)
	}
	return report, nil
}

// hasEnded reports whether an application has ended or is unknown to the ResourceManager.
func (c *Cluster) hasEnded(ctx context.Context, id string) (bool, error) {
	state, err := c.apps.State(ctx, id)
	if errors.Is(err, yarnrest.ErrNotFound) {
		return true, nil
	}
	return state.Ended(), err
}

// Kill kills an application and waits until it has ended.
func (c *Cluster) Kill(ctx context.Context, id string) (*Report, error) {
	if err := CheckApplicationID(id); err != nil {
		return nil, err
	}
	if err := c.killApplication(ctx, id, "yarn-submit kill"); err != nil {
		return nil, UnknownApplication(id, err)
	}
	ctx, cancel := context.WithTimeout(ctx, cleanUpTimeout)
	defer cancel()
	for {
		application, err := c.apps.Application(ctx, id)
		if err != nil {
			return nil, UnknownApplication(id, err)
		}
		if application.State.Ended() {
			report, _ := conclude(application, StateTimes{}) // a killed application is the expected result, so the error is not needed
			return report, nil
		}
		select {
		case <-ctx.Done():
			return nil, RefusedError(fmt.Errorf("%s was told to end and is still %s: %w", id, application.State, context.Cause(ctx)))
		case <-time.After(firstInterval):
		}
	}
}

// ListedApplication is an element of the result of [Cluster.List].
type ListedApplication struct {
	ApplicationID string    `json:"applicationId"`
	Name          string    `json:"name"`
	User          string    `json:"user"`
	Queue         string    `json:"queue"`
	State         string    `json:"state"`
	FinalStatus   string    `json:"finalStatus"`
	Started       time.Time `json:"started,omitzero"`
	Finished      time.Time `json:"finished,omitzero"`
	Progress      float64   `json:"progress"` // in percent
	Tags          []string  `json:"tags,omitempty"`
	TrackingURL   string    `json:"trackingUrl"`
}

// Selection selects applications. A zero field does not restrict the selection.
type Selection struct {
	States []string
	User   string
	Queue  string
	Tags   []string // select applications with any of these tags
	Name   string   // pattern for the name: * matches any text, ? any character
	Limit  int      // maximum number of applications; the newest are selected
}

// states are the valid elements of Selection.States.
var states = []string{"NEW", "NEW_SAVING", "SUBMITTED", stateAccepted, stateRunning, stateFinished, stateFailed, stateKilled}

// Matches reports whether an application's name matches s.Name.
func (s Selection) Matches(name string) bool {
	if s.Name == "" {
		return true
	}
	// Names may contain slashes, which path.Match would treat specially.
	matches, err := path.Match(strings.ReplaceAll(s.Name, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return err == nil && matches
}

// Queues returns the names of the queues that accept applications.
func (c *Cluster) Queues(ctx context.Context) ([]string, error) {
	scheduler, err := c.rest.Scheduler(ctx)
	if err != nil {
		return nil, RefusedError(err)
	}
	var names []string
	for _, queue := range scheduler.Queues {
		if queue.Leaf {
			names = append(names, queue.Name)
		}
	}
	return names, nil
}

// List returns bobbin's applications, the newest first. These are applications of the type BOBBIN
// or of the type in the settings.
func (c *Cluster) List(ctx context.Context, selection Selection) ([]ListedApplication, error) {
	filter := yarnrest.Filter{User: selection.User, Queue: selection.Queue, Types: c.types}
	for _, tag := range selection.Tags {
		filter.Tags = append(filter.Tags, strings.ToLower(tag)) // the ResourceManager stores tags in lower case
	}
	if _, err := path.Match(selection.Name, ""); err != nil {
		return nil, UsageErrorf("the name %q is no pattern: %w", selection.Name, err)
	}
	for _, state := range selection.States {
		if !slices.Contains(states, state) {
			return nil, UsageErrorf("%q is no state of an application: want one of %s", state, strings.Join(states, ", "))
		}
		filter.States = append(filter.States, yarnrest.ApplicationState(state))
	}
	applications, err := c.apps.Applications(ctx, filter)
	if err != nil {
		return nil, RefusedError(err)
	}
	applications = slices.DeleteFunc(applications, func(a yarnrest.Application) bool { return !selection.Matches(a.Name) })
	slices.SortFunc(applications, func(a, b yarnrest.Application) int { return b.Started.Compare(a.Started) })
	if selection.Limit > 0 && len(applications) > selection.Limit {
		applications = applications[:selection.Limit]
	}
	listed := make([]ListedApplication, len(applications))
	for i, a := range applications {
		listed[i] = ListedApplication{
			ApplicationID: a.ID, Name: a.Name, User: a.User, Queue: a.Queue, State: string(a.State), FinalStatus: string(a.FinalStatus),
			Started: a.Started, Finished: a.Finished, Progress: a.Progress, Tags: a.Tags, TrackingURL: a.TrackingURL,
		}
	}
	return listed, nil
}

package yarnrest

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const appsPath = "/ws/v1/cluster/apps"

// ApplicationState is a state of an application.
type ApplicationState string

// The states of YarnApplicationState. State may also return the ResourceManager's
// intermediate states, such as FINAL_SAVING or KILLING.
const (
	StateNew       ApplicationState = "NEW"
	StateNewSaving ApplicationState = "NEW_SAVING"
	StateSubmitted ApplicationState = "SUBMITTED"
	StateAccepted  ApplicationState = "ACCEPTED"
	StateRunning   ApplicationState = "RUNNING"
	StateFinished  ApplicationState = "FINISHED"
	StateFailed    ApplicationState = "FAILED"
	StateKilled    ApplicationState = "KILLED"
)

// Ended reports whether the state is final.
func (s ApplicationState) Ended() bool {
	return s == StateFinished || s == StateFailed || s == StateKilled
}

// FinalStatus is the status with which an application unregistered.
type FinalStatus string

// The values of FinalApplicationStatus.
const (
	StatusUndefined FinalStatus = "UNDEFINED"
	StatusSucceeded FinalStatus = "SUCCEEDED"
	StatusFailed    FinalStatus = "FAILED"
	StatusKilled    FinalStatus = "KILLED"
)

// Application is one application as the ResourceManager reports it.
type Application struct {
	ID                   string
	User                 string
	Name                 string
	Queue                string
	Type                 string
	Tags                 []string
	State                ApplicationState
	FinalStatus          FinalStatus
	Progress             float64 // percent
	TrackingUI           string
	TrackingURL          string
	Diagnostics          string
	Priority             int
	Started              time.Time
	Launched             time.Time // zero before the ApplicationMaster is launched
	Finished             time.Time // zero until the end
	Elapsed              time.Duration
	AMContainerLogs      string // URL
	AMHostHTTPAddress    string // host:port of the NodeManager of the ApplicationMaster
	AMRPCAddress         string
	AllocatedMB          int64 // -1 after the end
	AllocatedVCores      int64
	RunningContainers    int
	MemorySeconds        int64 // MiB·s since the start
	VCoreSeconds         int64
	LogAggregationStatus string
	UnmanagedAM          bool
}

// trackingURL returns "" for the text that stands for none, as after the end of
// an unmanaged ApplicationMaster (RMAppAttemptImpl.java of Hadoop 3; the web
// server adds a scheme to it).
func trackingURL(text string) string {
	if text == "N/A" || strings.HasSuffix(text, "://N/A") {
		return ""
	}
	return text
}

func decodeApplication(n jsonValue) Application {
	return Application{
		ID:                   n.at("id").text(),
		User:                 n.at("user").text(),
		Name:                 n.at("name").text(),
		Queue:                n.at("queue").text(),
		Type:                 n.at("applicationType").text(),
		Tags:                 n.at("applicationTags").strings(),
		State:                ApplicationState(n.at("state").text()),
		FinalStatus:          FinalStatus(n.at("finalStatus").text()),
		Progress:             n.at("progress").float(),
		TrackingUI:           n.at("trackingUI").text(),
		TrackingURL:          trackingURL(n.at("trackingUrl").text()),
		Diagnostics:          n.at("diagnostics").text(),
		Priority:             n.at("priority").int(),
		Started:              n.at("startedTime").time(),
		Launched:             n.at("launchTime").time(),
		Finished:             n.at("finishedTime").time(),
		Elapsed:              time.Duration(min(n.at("elapsedTime").int64(), int64(time.Hour)*24*3650/int64(time.Millisecond))) * time.Millisecond,
		AMContainerLogs:      n.at("amContainerLogs").text(),
		AMHostHTTPAddress:    n.at("amHostHttpAddress").text(),
		AMRPCAddress:         n.at("amRPCAddress").text(),
		AllocatedMB:          n.at("allocatedMB").int64(),
		AllocatedVCores:      n.at("allocatedVCores").int64(),
		RunningContainers:    n.at("runningContainers").int(),
		MemorySeconds:        n.at("memorySeconds").int64(),
		VCoreSeconds:         n.at("vcoreSeconds").int64(),
		LogAggregationStatus: n.at("logAggregationStatus").text(),
		UnmanagedAM:          n.at("unmanagedApplication").bool(),
	}
}

// deselected are parts of an application that this package does not decode and
// that can be large.
var deselected = []string{"resourceRequests", "timeouts"}

// Application returns one application. It fails with ErrNotFound if the cluster
// does not know it.
func (c *Client) Application(ctx context.Context, id string) (*Application, error) {
	a, root, err := c.get(ctx, pathOf(appsPath, id), url.Values{"deSelects": deselected})
	if err != nil {
		return nil, err
	}
	n := root.at("app")
	if !n.at("id").present() || !n.at("state").present() {
		return nil, a.lacks("app with an id and a state")
	}
	app := decodeApplication(n)
	return &app, nil
}

// Filter selects applications; a zero field selects all.
type Filter struct {
	States        []ApplicationState
	FinalStatus   FinalStatus
	User          string
	Queue         string
	Types         []string
	Tags          []string // any of them
	Name          string   // the whole name
	StartedAfter  time.Time
	StartedBefore time.Time
	Limit         int // at most so many, 0 for all
}

func (f Filter) query() url.Values {
	q := url.Values{"deSelects": deselected}
	set := func(key, value string) {
		if value != "" {
			q.Set(key, value)
		}
	}
	states := make([]string, 0, len(f.States))
	for _, s := range f.States {
		states = append(states, string(s))
	}
	set("states", strings.Join(states, ","))
	set("finalStatus", string(f.FinalStatus))
	set("user", f.User)
	set("queue", f.Queue)
	set("applicationTypes", strings.Join(f.Types, ","))
	set("applicationTags", strings.Join(f.Tags, ","))
	set("name", f.Name)
	if !f.StartedAfter.IsZero() {
		set("startedTimeBegin", strconv.FormatInt(f.StartedAfter.UnixMilli(), 10))
	}
	if !f.StartedBefore.IsZero() {
		set("startedTimeEnd", strconv.FormatInt(f.StartedBefore.UnixMilli(), 10))
	}
	if f.Limit > 0 {
		set("limit", strconv.Itoa(f.Limit))
	}
	return q
}

// Applications returns the applications that match.
func (c *Client) Applications(ctx context.Context, f Filter) ([]Application, error) {
	_, root, err := c.get(ctx, appsPath, f.query())
	if err != nil {
		return nil, err
	}
	var apps []Application
	for _, n := range root.at("apps", "app").list() {
		app := decodeApplication(n)
		// Early releases of Hadoop 3.3 ignore the name parameter.
		if app.ID == "" || f.Name != "" && app.Name != f.Name {
			continue
		}
		apps = append(apps, app)
	}
	return apps, nil
}

// State returns an application's state. It costs the ResourceManager less than
// Application.
func (c *Client) State(ctx context.Context, id string) (ApplicationState, error) {
	a, root, err := c.get(ctx, pathOf(appsPath, id, "state"), nil)
	if err != nil {
		return "", err
	}
	state := root.at("state").text()
	if state == "" {
		return "", a.lacks("state")
	}
	return ApplicationState(state), nil
}

// Kill asks the ResourceManager to kill an application. It returns once the
// request is accepted, which may be before the application has ended. It is no
// error if the application has ended already. The text is added to the
// application's diagnostics.
func (c *Client) Kill(ctx context.Context, id, diagnostics string) error {
	target := map[string]any{"state": StateKilled}
	if diagnostics != "" {
		target["diagnostics"] = diagnostics
	}
	return c.change(ctx, http.MethodPut, pathOf(appsPath, id, "state"), target)
}

// lifetimeLayout is the ResourceManager's format of times (Times.java of Hadoop
// 3).
const lifetimeLayout = "2006-01-02T15:04:05.000-0700"

// SetLifetime makes the ResourceManager kill an application when it has run for
// the lifetime. The ResourceManager checks every few seconds
// (yarn.resourcemanager.application-timeouts.monitor.interval-ms).
func (c *Client) SetLifetime(ctx context.Context, id string, lifetime time.Duration) error {
	application, err := c.Application(ctx, id)
	if err != nil {
		return err
	}
	// By the ResourceManager's clock, not this machine's.
	expires := application.Started.Add(lifetime).Format(lifetimeLayout)
	return c.change(ctx, http.MethodPut, pathOf(appsPath, id, "timeout"),
		map[string]any{"timeout": map[string]string{"type": "LIFETIME", "expiryTime": expires}})
}

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

// ApplicationState is where an application stands in its life.
type ApplicationState string

// The states of YarnApplicationState. State may also return states that the ResourceManager passes through,
// such as FINAL_SAVING or KILLING.
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

// Ended tells whether the application is over.
func (s ApplicationState) Ended() bool {
	return s == StateFinished || s == StateFailed || s == StateKilled
}

// FinalStatus is what an application said of itself when it ended.
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
	Launched             time.Time // zero before the ApplicationMaster was launched
	Finished             time.Time // zero while it lasts
	Elapsed              time.Duration
	AMContainerLogs      string // URL
	AMHostHTTPAddress    string // host:port of the NodeManager of the ApplicationMaster
	AMRPCAddress         string
	AllocatedMB          int64 // -1 when it has ended
	AllocatedVCores      int64
	RunningContainers    int
	MemorySeconds        int64 // MiB·s over its life
	VCoreSeconds         int64
	LogAggregationStatus string
	UnmanagedAM          bool
}

// trackingURL leaves out what stands for none, as after the end of an unmanaged
// ApplicationMaster (RMAppAttemptImpl.java of Hadoop 3, to which the web server adds a scheme).
func trackingURL(text string) string {
	if text == "N/A" || strings.HasSuffix(text, "://N/A") {
		return ""
	}
	return text
}

func decodeApplication(n node) Application {
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

// deselected are parts of an application that are not read here and can be large.
var deselected = []string{"resourceRequests", "timeouts"}

// Application asks for one application; errors.Is(err, ErrNotFound) when the cluster does not know it.
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

// Applications lists the applications that match.
func (c *Client) Applications(ctx context.Context, f Filter) ([]Application, error) {
	_, root, err := c.get(ctx, appsPath, f.query())
	if err != nil {
		return nil, err
	}
	var apps []Application
	for _, n := range root.at("apps", "app").list() {
		app := decodeApplication(n)
		// Early releases of Hadoop 3.3 do not know the name parameter and ignore it.
		if app.ID == "" || f.Name != "" && app.Name != f.Name {
			continue
		}
		apps = append(apps, app)
	}
	return apps, nil
}

// State asks for an application's state, which costs the ResourceManager less than the whole application.
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

// Kill asks the ResourceManager to kill an application and returns once it has taken the request, which
// may be before the application has ended; killing one that has ended is no error. The text is added to the
// application's diagnostics.
func (c *Client) Kill(ctx context.Context, id, diagnostics string) error {
	target := map[string]any{"state": StateKilled}
	if diagnostics != "" {
		target["diagnostics"] = diagnostics
	}
	return c.change(ctx, http.MethodPut, pathOf(appsPath, id, "state"), target)
}

// lifetimeLayout is how the ResourceManager reads a time (Times.java of Hadoop 3).
const lifetimeLayout = "2006-01-02T15:04:05.000-0700"

// SetLifetime has the ResourceManager kill an application some time after it was
// started. It looks every few seconds (yarn.resourcemanager.application-timeouts.monitor.interval-ms),
// and does so whether or not anybody follows the application.
func (c *Client) SetLifetime(ctx context.Context, id string, lifetime time.Duration) error {
	application, err := c.Application(ctx, id)
	if err != nil {
		return err
	}
	// By the ResourceManager's clock, and not by this machine's.
	expires := application.Started.Add(lifetime).Format(lifetimeLayout)
	return c.change(ctx, http.MethodPut, pathOf(appsPath, id, "timeout"),
		map[string]any{"timeout": map[string]string{"type": "LIFETIME", "expiryTime": expires}})
}

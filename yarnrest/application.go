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

// The states of Hadoop's YarnApplicationState. [Client.State] may also return
// internal states of the ResourceManager, such as FINAL_SAVING or KILLING.
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

// FinalStatus is the outcome that an ApplicationMaster reported when it unregistered.
type FinalStatus string

// The values of Hadoop's FinalApplicationStatus.
const (
	StatusUndefined FinalStatus = "UNDEFINED"
	StatusSucceeded FinalStatus = "SUCCEEDED"
	StatusFailed    FinalStatus = "FAILED"
	StatusKilled    FinalStatus = "KILLED"
)

// Application is an application, as the ResourceManager reports it.
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
	Finished             time.Time // zero before the application has ended
	Elapsed              time.Duration
	AMContainerLogs      string // URL of the ApplicationMaster's logs
	AMHostHTTPAddress    string // host:port of the web server of the ApplicationMaster's NodeManager
	AMRPCAddress         string
	AllocatedMB          int64 // -1 after the application has ended
	AllocatedVCores      int64
	RunningContainers    int
	MemorySeconds        int64 // memory used so far, in MiB·s
	VCoreSeconds         int64
	LogAggregationStatus string
	UnmanagedAM          bool
}

// trackingURL returns a tracking URL that the ResourceManager reported, or "" if the URL is
// "N/A". It is "N/A" after the end of an unmanaged ApplicationMaster (RMAppAttemptImpl.java of
// Hadoop 3). The ResourceManager's web server may have added a scheme before "N/A".
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

// omittedFields are fields of an application that can be large and that this package does not
// decode. Requests tell the ResourceManager to omit them.
var omittedFields = []string{"resourceRequests", "timeouts"}

// Application returns an application. It fails with ErrNotFound if the ResourceManager does
// not know the id.
func (c *Client) Application(ctx context.Context, id string) (*Application, error) {
	a, root, err := c.get(ctx, pathOf(appsPath, id), url.Values{"deSelects": omittedFields})
	if err != nil {
		return nil, err
	}
	n := root.at("app")
	if !n.at("id").present() || !n.at("state").present() {
		return nil, a.missingPart("app with an id and a state")
	}
	app := decodeApplication(n)
	return &app, nil
}

// Filter selects the applications that match all fields. A field with the zero value matches
// every application.
type Filter struct {
	States        []ApplicationState
	FinalStatus   FinalStatus
	User          string
	Queue         string
	Types         []string
	Tags          []string // matches applications that have at least one of these tags
	Name          string   // matches applications with exactly this name
	StartedAfter  time.Time
	StartedBefore time.Time
	Limit         int // the largest number of applications returned; 0 for all
}

func (f Filter) query() url.Values {
	q := url.Values{"deSelects": omittedFields}
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

// Applications returns the applications that f selects.
func (c *Client) Applications(ctx context.Context, f Filter) ([]Application, error) {
	_, root, err := c.get(ctx, appsPath, f.query())
	if err != nil {
		return nil, err
	}
	var apps []Application
	for _, n := range root.at("apps", "app").list() {
		app := decodeApplication(n)
		// Early releases of Hadoop 3.3 ignore the query parameter "name".
		if app.ID == "" || f.Name != "" && app.Name != f.Name {
			continue
		}
		apps = append(apps, app)
	}
	return apps, nil
}

// State returns an application's state. The request is cheaper for the ResourceManager than
// that of [Client.Application].
func (c *Client) State(ctx context.Context, id string) (ApplicationState, error) {
	a, root, err := c.get(ctx, pathOf(appsPath, id, "state"), nil)
	if err != nil {
		return "", err
	}
	state := root.at("state").text()
	if state == "" {
		return "", a.missingPart("state")
	}
	return ApplicationState(state), nil
}

// Kill requests that the ResourceManager kill an application and append diagnostics to the
// application's diagnostics. It returns when the ResourceManager has accepted the request,
// which may be before the application ends. If the application has already ended, Kill returns
// nil.
func (c *Client) Kill(ctx context.Context, id, diagnostics string) error {
	target := map[string]any{"state": StateKilled}
	if diagnostics != "" {
		target["diagnostics"] = diagnostics
	}
	return c.sendJSON(ctx, http.MethodPut, pathOf(appsPath, id, "state"), target)
}

// lifetimeLayout is the ResourceManager's format of times (Times.java of Hadoop 3).
const lifetimeLayout = "2006-01-02T15:04:05.000-0700"

// SetLifetime makes the ResourceManager kill an application once lifetime has
// passed since its start. The ResourceManager checks every few seconds
// (yarn.resourcemanager.application-timeouts.monitor.interval-ms).
func (c *Client) SetLifetime(ctx context.Context, id string, lifetime time.Duration) error {
	application, err := c.Application(ctx, id)
	if err != nil {
		return err
	}
	// Started is from the ResourceManager's clock, so a difference to this machine's clock
	// does not matter.
	expires := application.Started.Add(lifetime).Format(lifetimeLayout)
	return c.sendJSON(ctx, http.MethodPut, pathOf(appsPath, id, "timeout"),
		map[string]any{"timeout": map[string]string{"type": "LIFETIME", "expiryTime": expires}})
}

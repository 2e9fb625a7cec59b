package yarntest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

func (c *Cluster) restNewApplication(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{
		"application-id": c.newID().String(), "maximum-resource-capability": restResource(c.options.MaxContainer),
	})
}

func (c *Cluster) restSubmit(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ID          string `json:"application-id"`
		Name        string `json:"application-name"`
		Type        string `json:"application-type"`
		Queue       string `json:"queue"`
		MaxAttempts int    `json:"max-app-attempts"`
		Keep        bool   `json:"keep-containers-across-application-attempts"`
		Unmanaged   bool   `json:"unmanaged-AM"`
		Resource    struct {
			Memory int64 `json:"memory"`
			VCores int32 `json:"vCores"`
		} `json:"resource"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, badRequestClass, "malformed submission: "+err.Error())
		return
	}
	id, err := yarn.ParseApplicationID(body.ID)
	if err != nil {
		refuse(w, http.StatusBadRequest, badRequestClass, "Unable to parse the application id: "+body.ID)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed()
	if c.byID[id] == nil { // a repeated submission has no effect
		c.submit(id, Submission{
			User: r.URL.Query().Get("user.name"), Name: body.Name, Type: body.Type, Queue: body.Queue, Managed: !body.Unmanaged,
			Resource: yarn.Resource{MemoryMB: body.Resource.Memory, VCores: body.Resource.VCores}, MaxAttempts: body.MaxAttempts, KeepContainers: body.Keep,
		})
	}
	w.Header().Set("Location", "http://"+r.Host+r.URL.Path+"/"+id.String())
	w.WriteHeader(http.StatusAccepted)
}

// withApplication returns a handler that looks up the application whose id is in the URL, and
// calls serve with it. c.mu is locked during the call.
func (c *Cluster) withApplication(serve func(http.ResponseWriter, *http.Request, *application)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, err := yarn.ParseApplicationID(r.PathValue("id"))
		if err != nil {
			refuse(w, http.StatusBadRequest, badRequestClass, "Invalid ApplicationId: "+r.PathValue("id"))
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		app := c.byID[id]
		// A ResourceManager that was started recently has not recovered all running
		// applications.
		if app == nil || time.Now().Before(c.recovered) && !app.state.Ended() {
			refuse(w, http.StatusNotFound, notFoundClass, fmt.Sprintf("app with id: %v not found", id))
			return
		}
		defer c.changed()
		serve(w, r, app)
	}
}

func restState(app *application) string {
	return strings.ReplaceAll(strings.ToUpper(app.state.String()), "-", "_")
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func (c *Cluster) restView(app *application) map[string]any {
	final := [...]string{"UNDEFINED", "SUCCEEDED", "FAILED", "KILLED"}[app.final]
	a := app.current()
	running, memory, cores := -1, int64(-1), int64(-1)
	end := app.finished
	if !app.state.Ended() {
		running, memory, cores, end = len(a.held), 0, 0, time.Now()
		for _, k := range a.held {
			memory, cores = memory+k.resource.MemoryMB, cores+int64(k.resource.VCores)
		}
	}
	view := map[string]any{
		"id": app.id.String(), "user": app.User, "name": app.Name, "queue": app.queue.path(), "applicationType": app.Type,
		"state": restState(app), "finalStatus": final, "progress": app.progress * 100, "diagnostics": app.diagnostics,
		"trackingUI": "ApplicationMaster", "trackingUrl": app.trackingURL, "startedTime": millis(app.submitted), "launchTime": millis(app.launched),
		"finishedTime": millis(app.finished), "elapsedTime": end.Sub(app.submitted).Milliseconds(), "runningContainers": running,
		"allocatedMB": memory, "allocatedVCores": cores, "unmanagedApplication": !app.Managed, "logAggregationStatus": "DISABLED",
	}
	if a.master != nil {
		view["amHostHttpAddress"] = a.master.node.httpAddress()
	}
	return view
}

func (c *Cluster) restApplication(w http.ResponseWriter, _ *http.Request, app *application) {
	answer(w, http.StatusOK, map[string]any{"app": c.restView(app)})
}

func (c *Cluster) restApplications(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	query := r.URL.Query()
	matches := func(key, value string) bool {
		wanted := query.Get(key)
		return wanted == "" || slices.Contains(strings.Split(wanted, ","), value)
	}
	apps := []map[string]any{}
	for _, app := range c.applications {
		if matches("states", restState(app)) && matches("user", app.User) && matches("queue", app.queue.spec.Name) &&
			matches("applicationTypes", app.Type) && matches("name", app.Name) {
			apps = append(apps, c.restView(app))
		}
	}
	answer(w, http.StatusOK, map[string]any{"apps": map[string]any{"app": apps}})
}

func (c *Cluster) restState(w http.ResponseWriter, _ *http.Request, app *application) {
	answer(w, http.StatusOK, map[string]any{"state": restState(app)})
}

func (c *Cluster) restKill(w http.ResponseWriter, r *http.Request, app *application) {
	var body struct {
		State       string `json:"state"`
		Diagnostics string `json:"diagnostics"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.State != "KILLED" {
		refuse(w, http.StatusBadRequest, badRequestClass, "Invalid target state "+body.State)
		return
	}
	status := http.StatusOK
	if !app.state.Ended() {
		status = http.StatusAccepted
		c.kill(app, "Application "+app.id.String()+" was killed by user "+r.URL.Query().Get("user.name")+"\n"+body.Diagnostics)
	}
	answer(w, status, map[string]any{"state": restState(app)})
}

func (c *Cluster) restAttempts(w http.ResponseWriter, _ *http.Request, app *application) {
	attempts := []map[string]any{}
	for _, a := range app.attempts {
		view := map[string]any{
			"id": a.id.Attempt, "appAttemptId": a.id.String(), "appAttemptState": a.state(), "startTime": millis(a.began), "finishedTime": millis(a.finishedAt),
			"containerId": "", "nodeId": "", "nodeHttpAddress": "",
		}
		if a.master != nil {
			view["containerId"], view["nodeId"], view["nodeHttpAddress"] = a.master.id.String(), a.master.node.id.String(), a.master.node.httpAddress()
		}
		attempts = append(attempts, view)
	}
	answer(w, http.StatusOK, map[string]any{"appAttempts": map[string]any{"appAttempt": attempts}})
}

func (c *Cluster) restContainers(w http.ResponseWriter, r *http.Request, app *application) {
	id, err := yarn.ParseAttemptID(r.PathValue("attempt"))
	a := c.attempt(id)
	if err != nil || a == nil || a.app != app {
		refuse(w, http.StatusNotFound, notFoundClass, "app attempt with id: "+r.PathValue("attempt")+" not found")
		return
	}
	containers := []map[string]any{}
	for _, k := range a.held {
		state := "NEW"
		if k.stage == launched {
			state = "RUNNING"
		}
		containers = append(containers, map[string]any{
			"containerId": k.id.String(), "containerState": state, "allocatedMB": k.resource.MemoryMB, "allocatedVCores": k.resource.VCores,
			"priority": k.priority, "startedTime": millis(k.allocatedAt), "finishedTime": 0, "nodeId": k.node.id.String(),
			"nodeHttpAddress": "http://" + k.node.httpAddress(), "containerExitStatus": 0,
		})
	}
	answer(w, http.StatusOK, map[string]any{"container": containers})
}

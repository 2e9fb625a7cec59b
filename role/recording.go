package role

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/ui"
)

// logTimeout limits how long the end of an application waits for its event log.
const logTimeout = 5 * time.Second

// recording records an application's events, and writes its event log and its HTML report.
type recording struct {
	recorder *events.Recorder
	logs     []*eventlog.Log
	report   string // path of the HTML report (see ui.Report); "" for no report
	logger   *slog.Logger

	mu     sync.Mutex
	state  string // final state of the application
	err    error  // error of the driver function
	closed bool
}

// startRecording starts the recorder of an application's events.
func startRecording(o driverOptions) *recording {
	r := &recording{
		report: os.Getenv(launch.EnvReportFile), logger: o.logger,
		state: events.StateKilled, // until driverReturned sets the result
	}
	_ = os.Unsetenv(launch.EnvReportFile) // child processes must not inherit it
	var consumers []events.Consumer
	if directory, home := logDirectory(o); directory != "" {
		r.logs = append(r.logs, eventlog.Start(eventlog.Options{
			Files: o.files, Directory: directory, RequiredHome: home, MaxAge: config.EventLogMaxAge.In(o.settings), Application: o.id, Attempt: max(o.attempt, 1), Logger: o.logger,
		}))
	}
	if directory := config.EventLogSparkDir.In(o.settings); directory != "" && config.EventLog.In(o.settings) && o.files != nil {
		r.logs = append(r.logs, eventlog.StartSpark(eventlog.Options{Files: o.files, Directory: directory, Application: o.id, Attempt: max(o.attempt, 1), Logger: o.logger}))
	}
	for _, log := range r.logs {
		consumers = append(consumers, log)
	}
	r.recorder = events.NewRecorder(events.LiveLimits, consumers...)
	r.recorder.Record(applicationStarted(o))
	_ = r.recorder.Newest() // process the first event now, so that every snapshot contains the application
	return r
}

// logDirectory returns the directory of the event log; "" for no event log. home is a directory
// without which no log is written; "" if there is no such condition.
func logDirectory(o driverOptions) (directory, home string) {
	switch directory = config.EventLogDir.In(o.settings); {
	case !config.EventLog.In(o.settings) || o.files == nil:
		return "", ""
	case directory != "":
		return directory, ""
	case !o.onYARN || o.hadoop == nil || !strings.HasPrefix(o.hadoop.DefaultFS(), "hdfs:"):
		return "", ""
	}
	return eventlog.DefaultDirectory(o.user), "/user/" + o.user
}

func applicationStarted(o driverOptions) *events.ApplicationStarted {
	name := cmp.Or(o.name, config.AppName.In(o.settings), filepath.Base(os.Args[0]))
	started := &events.ApplicationStarted{
		Time: events.At(time.Now()), ID: o.id, Attempt: max(o.attempt, 1), Name: name, User: o.user,
		Master: cmp.Or(o.master, config.Master.In(o.settings)), Mode: config.DeployMode.In(o.settings), Host: o.host, Version: buildVersion(), Go: runtime.Version(),
	}
	switch {
	case o.onYARN:
		started.Master = cmp.Or(started.Master, "yarn")
	case o.host == "":
		started.Mode = "local"
	}
	values := o.settings.Map()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		started.Settings = append(started.Settings, events.Setting{Key: key, Value: o.settings.Redact(key, values[key]), Source: o.settings.Source(key)})
	}
	return started
}

// buildVersion returns the version of the program's main module.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

// driverReturned stores the result of the driver function for the event log. ctx was the function's
// context.
func (r *recording) driverReturned(ctx context.Context, err error) {
	state := events.StateFailed
	var killed *am.KilledError
	switch cause := context.Cause(ctx); {
	case err == nil:
		state = events.StateSucceeded
	case errors.Is(cause, context.Canceled), errors.As(cause, &killed):
		state = events.StateKilled
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.err = state, err
}

// failedBeforeDriver records that the application failed before its driver function was called, and
// closes the recording.
func (r *recording) failedBeforeDriver(err error) {
	r.mu.Lock()
	r.state, r.err = events.StateFailed, err
	r.mu.Unlock()
	r.close()
}

// close records the application's end, writes the report and completes the event log. Further calls
// have no effect.
func (r *recording) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	ended := &events.ApplicationEnded{Time: events.At(time.Now()), State: r.state}
	if r.err != nil {
		ended.Error = r.err.Error()
	}
	r.recorder.Record(ended)
	r.recorder.Close()
	if r.report != "" {
		if err := r.writeReport(); err != nil {
			r.logger.Warn("the report of the application is not written", "error", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), logTimeout)
	defer cancel()
	for _, log := range r.logs {
		log.Close(ctx, r.state, r.recorder.Snapshot())
	}
}

func (r *recording) writeReport() error {
	report, err := ui.Report(r.recorder.Snapshot(), time.Now())
	if err != nil {
		return err
	}
	return os.WriteFile(r.report, report, 0o644)
}

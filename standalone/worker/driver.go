package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// A supervised driver that fails is restarted after a pause. The pause doubles from
	// firstRestart to longestRestart. After a run that took longer than steadyRun, it is
	// firstRestart again. (The pause of Spark's DriverRunner doubles without a limit.)
	firstRestart   = time.Second
	longestRestart = time.Minute
	steadyRun      = 5 * time.Second
)

// driverChanged is the event that the state of a driver has changed.
type driverChanged struct {
	key    string // key in worker.running
	report *protocol.DriverReport
}

// launchDriver starts a driver, unless the worker has already received the order for this
// launch or a later one. It stops an earlier launch of the driver.
func (w *worker) launchDriver(order *protocol.LaunchDriver) {
	id, launched := order.GetDriverId(), order.GetLaunch()
	if known := w.reports.drivers[id]; known != nil {
		if known.report.GetLaunch() >= launched {
			return
		}
		w.killDriver(id, known.report.GetLaunch())
	}
	description := order.GetDescription()
	report := &protocol.DriverReport{DriverId: id, Launch: launched, Description: description, Resources: order.GetResources()}
	err, state := checkID(id), protocol.DriverState_DRIVER_ERROR
	if err == nil {
		err, state = w.refusal(), protocol.DriverState_DRIVER_LOST
	}
	if err != nil {
		report.State, report.Text = state, err.Error()
		w.enqueue(w.reports.setDriver(report))
		return
	}
	r := &running{
		owner: id, process: strconv.FormatUint(uint64(launched), 10), kind: kindDriver,
		cores: int(description.GetCores()), memory: config.Size(description.GetMemory()), resources: protocol.FromAddresses(order.GetResources()),
	}
	ctx := w.begin(r)
	report.State, report.LogUrl = protocol.DriverState_DRIVER_LAUNCHING, r.logURL
	w.logger.Info("launching driver", "driver", id, "launch", launched, "name", description.GetName(), "supervise", description.GetSupervise())
	w.enqueue(w.reports.setDriver(report))
	key := r.key()
	w.tasks.Go(func() {
		changed := func(state protocol.DriverState, code int, text string) {
			report.State, report.ExitCode, report.Text = state, int32(code), text
			w.post(driverChanged{key, proto.CloneOf(report)})
		}
		attempts := 0
		ending, err := supervise(ctx, description.GetSupervise(),
			func() (ending, error) {
				attempts++
				return w.runDriver(ctx, order, r.process, attempts > 1, func(int) { changed(protocol.DriverState_DRIVER_RUNNING, 0, "") })
			},
			func(e ending, pause time.Duration) {
				changed(protocol.DriverState_DRIVER_RUNNING, e.code, fmt.Sprintf("it %v, and is started again after %v", e, pause))
			})
		changed(driverEnding(context.Cause(ctx), ending, err))
	})
}

// supervise calls run, which runs a driver until it ends. If the driver fails and supervised
// is set, supervise restarts it after a pause: it passes the driver's ending and the length of
// the pause to the function named again, waits, and calls run once more.
func supervise(ctx context.Context, supervised bool, run func() (ending, error), again func(e ending, pause time.Duration)) (ending, error) {
	pause := firstRestart
	for {
		began := time.Now()
		e, err := run()
		if err != nil || e.code == 0 || !supervised || ctx.Err() != nil {
			return e, err
		}
		if time.Since(began) > steadyRun {
			pause = firstRestart
		}
		again(e, pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return e, nil
		}
		pause = min(2*pause, longestRestart)
	}
}

// driverEnding returns the state, the exit code and the text to report for a driver that has
// ended. cause is set if the worker has stopped the driver. failure is set if the driver could
// not be run.
func driverEnding(cause error, e ending, failure error) (protocol.DriverState, int, string) {
	switch {
	case errors.Is(cause, errKilled):
		return protocol.DriverState_DRIVER_KILLED, e.code, cause.Error()
	case cause != nil && (failure != nil || e.code != 0):
		return protocol.DriverState_DRIVER_LOST, e.code, cause.Error()
	case failure != nil:
		return protocol.DriverState_DRIVER_ERROR, 0, failure.Error()
	case e.code != 0:
		return protocol.DriverState_DRIVER_FAILED, e.code, e.String()
	}
	return protocol.DriverState_DRIVER_FINISHED, 0, ""
}

// driverChanged processes the new state of a driver's launch. It reports the state to the
// master, unless a later launch has replaced this launch.
func (w *worker) driverChanged(e driverChanged) {
	known := w.reports.drivers[e.report.GetDriverId()]
	if known == nil || known.report.GetLaunch() <= e.report.GetLaunch() {
		w.enqueue(w.reports.setDriver(e.report))
	}
	state := e.report.GetState()
	if !state.Ended() {
		if r := w.running[e.key]; r != nil {
			r.state = "running"
		}
		return
	}
	w.logger.Info("driver ended", "driver", e.report.GetDriverId(), "launch", e.report.GetLaunch(), "state", state, "reason", e.report.GetText())
	w.finish(e.key, stateName(state.String()), e.report.GetText())
}

// killDriver stops a driver, as the master has ordered. launched is the number of the launch
// to stop; 0 means any.
func (w *worker) killDriver(id string, launched uint32) {
	known := w.reports.drivers[id]
	if known != nil && launched != 0 && launched < known.report.GetLaunch() {
		return // a later launch has replaced the launch to stop
	}
	if known != nil {
		if r := w.running[id+"/"+strconv.FormatUint(uint64(known.report.GetLaunch()), 10)]; r != nil {
			r.end(errKilled)
		}
	}
	switch {
	case known == nil || launched > known.report.GetLaunch():
		w.enqueue(w.reports.setDriver(&protocol.DriverReport{
			DriverId: id, Launch: launched, State: protocol.DriverState_DRIVER_ERROR, Text: "its worker does not have it",
		}))
	case known.report.GetState().Ended():
		w.enqueue(w.reports.setDriver(known.report)) // report the driver's end again, because it was not acknowledged
	}
}

// runDriver runs a driver's program until it ends, with settings for this cluster. It does not
// set launch.EnvRole, because a process without a role runs the driver.
func (w *worker) runDriver(ctx context.Context, order *protocol.LaunchDriver, name string, again bool, started func(pid int)) (ending, error) {
	description := order.GetDescription()
	home := w.directory.processDirectory(order.GetDriverId(), name)
	variables := map[string]string{launch.EnvDriverID: order.GetDriverId()}
	if description.GetUser() != "" {
		variables["HADOOP_USER_NAME"] = description.GetUser()
	}
	return w.runIn(ctx, home, launchSpec{
		mark:    order.GetDriverId() + "/" + name,
		program: description.GetProgram(), files: description.GetFiles(), arguments: description.GetArguments(),
		cores: int(description.GetCores()), memory: config.Size(description.GetMemory()), resources: protocol.FromAddresses(order.GetResources()),
		userVariables: description.GetEnvironment(),
		variables:     variables,
		secrets: func(directory string) (map[string]string, error) {
			settings, err := w.driverSettings(directory, description.GetProperties())
			if tokens := description.GetCredentials(); err == nil && len(tokens) > 0 {
				settings[security.TokenFileVariable], err = writeCredentials(directory, tokens)
			}
			return settings, err
		},
		restarted: again,
	}, started)
}

// driverSettings returns the environment variable that has a driver's settings. If the
// worker's credentials are from a secret, it writes the key that is derived from the secret
// into the directory.
func (w *worker) driverSettings(directory string, properties map[string]string) (map[string]string, error) {
	credentials, err := w.options.Credentials.WriteForChild(directory)
	if err != nil {
		return nil, err
	}
	settings := maps.Clone(properties)
	if settings == nil {
		settings = map[string]string{}
	}
	for _, key := range []config.Key[string]{
		config.AuthenticateSecret, config.AuthenticateSecretFile, config.SSLCertFile, config.SSLKeyFile, config.SSLCAFile, config.DriverBind,
	} {
		delete(settings, key.Name()) // these settings apply only to the submitter's machine
	}
	maps.Copy(settings, credentials)
	settings[config.Master.Name()] = masterurl.StandaloneURL(w.masters.All()...)
	settings[config.DeployMode.Name()] = config.DeployClient
	settings[config.DriverHost.Name()] = w.machine.host
	encoded, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	return map[string]string{launch.EnvProperties: string(encoded)}, nil
}

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// executorChanged is the event that the state of an executor has changed.
type executorChanged struct {
	key    string // key in worker.running
	report *protocol.ExecutorReport
}

// launchExecutor starts an executor, unless the worker has already received the order.
func (w *worker) launchExecutor(order *protocol.LaunchExecutor) {
	id := executorID{order.GetApplicationId(), order.GetExecutorId()}
	if w.reports.executors[id] != nil {
		return
	}
	report := &protocol.ExecutorReport{
		ApplicationId: id.application, ExecutorId: id.executor,
		Profile: order.GetProfile(), Cores: order.GetCores(), Resources: order.GetResources(),
	}
	err, state := checkID(id.application), protocol.ExecutorState_EXECUTOR_FAILED
	if err == nil {
		err, state = w.refusal(), protocol.ExecutorState_EXECUTOR_LOST
	}
	if err != nil {
		report.State, report.Text = state, err.Error()
		w.enqueue(w.reports.setExecutor(report))
		return
	}
	profile := order.GetProfile()
	r := &running{
		owner: id.application, process: strconv.FormatUint(uint64(id.executor), 10), kind: kindExecutor,
		cores: int(order.GetCores()), memory: config.Size(profile.GetMemory() + profile.GetOverhead()),
		resources: protocol.FromAddresses(order.GetResources()),
	}
	ctx := w.begin(r)
	report.LogUrl = r.logURL
	w.logger.Info("launching executor", "application", id.application, "executor", id.executor, "cores", r.cores, "memory", r.memory)
	w.enqueue(w.reports.setExecutor(report))
	key, url := r.key(), r.logURL
	w.tasks.Go(func() {
		changed := func(state protocol.ExecutorState, code int, text string) {
			report.State, report.ExitCode, report.Text = state, int32(code), text
			w.post(executorChanged{key, proto.CloneOf(report)})
		}
		ending, err := w.runExecutor(ctx, order, r.process, url, func(int) { changed(protocol.ExecutorState_EXECUTOR_RUNNING, 0, "") })
		changed(executorEnding(context.Cause(ctx), ending, err))
	})
}

// executorEnding returns the state, the exit code and the text to report for an executor that
// has ended. cause is set if the worker has stopped the executor. failure is set if the
// executor could not be run.
func executorEnding(cause error, e ending, failure error) (protocol.ExecutorState, int, string) {
	switch {
	case errors.Is(cause, errKilled):
		return protocol.ExecutorState_EXECUTOR_KILLED, 0, cause.Error()
	case cause != nil:
		return protocol.ExecutorState_EXECUTOR_LOST, 0, cause.Error()
	case failure != nil:
		return protocol.ExecutorState_EXECUTOR_FAILED, 0, failure.Error()
	}
	return protocol.ExecutorState_EXECUTOR_EXITED, e.code, e.String()
}

func (w *worker) executorChanged(e executorChanged) {
	w.enqueue(w.reports.setExecutor(e.report))
	state := e.report.GetState()
	if !state.Ended() {
		if r := w.running[e.key]; r != nil {
			r.state = "running"
		}
		return
	}
	w.logger.Info("executor ended", "application", e.report.GetApplicationId(), "executor", e.report.GetExecutorId(), "state", state, "reason", e.report.GetText())
	w.finish(e.key, stateName(state.String()), e.report.GetText())
}

// killExecutor stops an executor, as the master has ordered.
func (w *worker) killExecutor(id executorID) {
	if r := w.running[id.application+"/"+strconv.FormatUint(uint64(id.executor), 10)]; r != nil {
		r.end(errKilled)
		return
	}
	if known := w.reports.executors[id]; known != nil {
		w.enqueue(w.reports.setExecutor(known.report)) // report the executor's end again, because it was not acknowledged
		return
	}
	w.enqueue(w.reports.setExecutor(&protocol.ExecutorReport{
		ApplicationId: id.application, ExecutorId: id.executor, State: protocol.ExecutorState_EXECUTOR_LOST, Text: "its worker does not have it",
	}))
}

// runExecutor prepares an executor's directory, and runs the executor until it ends.
func (w *worker) runExecutor(ctx context.Context, order *protocol.LaunchExecutor, name, logURL string, started func(pid int)) (ending, error) {
	home := w.directory.processDirectory(order.GetApplicationId(), name)
	command, profile := order.GetCommand(), order.GetProfile()
	variables := map[string]string{
		launch.EnvRole:       string(launch.RoleExecutor),
		launch.EnvDriver:     command.GetDriver(),
		launch.EnvExecutorID: name,
		launch.EnvHost:       w.machine.host,
		launch.EnvCores:      strconv.FormatUint(uint64(order.GetCores()), 10),
		launch.EnvProfile:    strconv.FormatUint(uint64(profile.GetId()), 10),
		launch.EnvLogURL:     logURL,
	}
	if command.GetUser() != "" {
		variables["HADOOP_USER_NAME"] = command.GetUser()
	}
	if err := w.offerShuffles(order, variables); err != nil {
		return ending{}, err
	}
	return w.runIn(ctx, home, launchSpec{
		mark:    order.GetApplicationId() + "/" + name,
		program: command.GetProgram(), files: command.GetFiles(), arguments: command.GetArguments(),
		cores: int(order.GetCores()), memory: config.Size(profile.GetMemory()), resources: protocol.FromAddresses(order.GetResources()),
		userVariables: command.GetEnvironment(), variables: variables,
		secrets: func(directory string) (map[string]string, error) {
			path, err := writePass(directory, command.GetPass())
			return map[string]string{security.TokenFileVariable: path}, err
		},
	}, started)
}

// writePass writes the secret with which an executor authenticates to its driver (the pass) to
// a file, as writeCredentials does.
func writePass(directory string, pass []byte) (path string, err error) {
	credentials := &security.Credentials{}
	credentials.SetSecret(launch.SecretDriver, pass)
	encoded, err := credentials.Encode(security.Writable)
	if err != nil {
		return "", fmt.Errorf("the executor's credentials: %w", err)
	}
	return writeCredentials(directory, encoded)
}

// writeCredentials writes the encoded credentials of a process to a file that only this user
// can read. It returns the file's path.
func writeCredentials(directory string, encoded []byte) (path string, err error) {
	path = filepath.Join(directory, "credentials")
	if err := os.WriteFile(path, encoded, 0o600); err != nil {
		return "", fmt.Errorf("credentials: %w", err)
	}
	return path, nil
}

// launchSpec describes a process that runIn starts.
type launchSpec struct {
	mark          string // identifies the process; unique among the worker's processes
	program       *protocol.File
	files         []*protocol.File
	arguments     []string
	cores         int
	memory        config.Size // determines the Go runtime's memory limit
	resources     map[string][]string
	userVariables map[string]string                                 // variables that the application sets
	variables     map[string]string                                 // variables that bobbin sets
	secrets       func(directory string) (map[string]string, error) // writes files with secrets, and returns the variables that name the files
	restarted     bool                                              // whether the process is restarted, so that its earlier logs remain
}

// runIn prepares a directory and runs a process in it until the process ends.
func (w *worker) runIn(ctx context.Context, home processDirectory, spec launchSpec, started func(pid int)) (e ending, err error) {
	if err := home.prepare(spec.restarted); err != nil {
		return ending{}, err
	}
	defer func() {
		if err := home.removeTemporary(); err != nil {
			w.logger.Warn("removing a process's temporary files", "error", err)
		}
	}()
	work := home.part(workPart)
	release, err := w.cache.linkFiles(ctx, append([]*protocol.File{spec.program}, spec.files...), work)
	if err != nil {
		return ending{}, err
	}
	defer release()
	environment, err := w.environmentOf(home, spec)
	if err != nil {
		return ending{}, err
	}
	if ctx.Err() != nil {
		return ending{}, context.Cause(ctx)
	}
	return w.runner.run(ctx, process{
		mark: w.id + "/" + spec.mark + "/", program: filepath.Join(work, spec.program.GetName()), arguments: spec.arguments,
		environment: environment, directory: work, logs: home.part(logsPart),
	}, started)
}

// environmentOf returns a process's environment: the worker's environment, the process's
// directories, limits for the Go runtime, the application's variables, and bobbin's variables.
// If a name occurs more than once, the last value applies.
func (w *worker) environmentOf(home processDirectory, spec launchSpec) ([]string, error) {
	e := inherited(os.Environ())
	logs := home.part(logsPart)
	maps.Copy(e, map[string]string{"PWD": home.part(workPart), "LOG_DIRS": logs, "TMPDIR": home.part(tmpPart)})
	maps.Copy(e, launch.GoLimits(spec.cores, spec.memory))
	e.add(spec.userVariables, logs)
	maps.Copy(e, spec.variables)
	e[launch.EnvContainer] = w.id + "/" + spec.mark + "/"
	if len(spec.resources) > 0 {
		encoded, err := json.Marshal(spec.resources)
		if err != nil {
			return nil, err
		}
		e[launch.EnvResources] = string(encoded)
	}
	secrets, err := spec.secrets(home.part(secretPart))
	if err != nil {
		return nil, err
	}
	maps.Copy(e, secrets)
	return e.list(), nil
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
)

// runInPlace replaces this process by the program, which runs the driver. It returns an error if
// the settings or the program do not allow this. For other cases in which it returns, see replace.
func (s programRun) runInPlace(t terminal) error {
	properties := s.settings.Map()
	if s.verbose && !s.settings.IsSet(config.LogLevel.Name()) {
		properties[config.LogLevel.Name()] = "info" // without this setting, the program logs only warnings
	}
	var environment []string
	switch {
	case s.target.local:
		environment = localEnvironment(t, s.settings)
	case s.target.submitsItself:
		properties[config.Master.Name()] = masterurl.YARNURL
		if s.json {
			environment = append(environment, launch.EnvReport+"=json")
		}
	default:
		if key := config.IdempotencyKey; key.In(s.settings) != "" {
			return client.UsageError(fmt.Errorf("%s (from %s) is for cluster mode: nobody else can follow a driver in this process",
				key.Name(), s.settings.Source(key.Name())))
		}
		if s.json {
			return client.UsageError(errors.New("--json: with the driver in this process stdout is the program's; " +
				"ask for its application's report with yarn-submit status --json"))
		}
	}
	if !s.target.local {
		if err := client.CheckRunsHere(s.program); err != nil {
			return err
		}
	}
	if s.report != "" {
		environment = append(environment, launch.EnvReportFile+"="+s.report)
	}
	// If EnvProperties is set, the program ignores BOBBIN_… variables and the defaults file.
	for name, values := range map[string]map[string]string{launch.EnvProperties: properties, launch.EnvOrigins: s.settings.Origins()} {
		encoded, err := json.Marshal(values)
		if err != nil {
			return client.UsageError(err)
		}
		environment = append(environment, name+"="+string(encoded))
	}
	return replace(t, s.program, append([]string{s.program}, s.args...), environment)
}

// localEnvironment returns the environment variables that the settings define for the driver and
// for executors, because on this machine one process is both driver and executor. It warns about
// settings that have no effect on this machine.
func localEnvironment(t terminal, settings *config.Config) []string {
	for _, key := range []config.Key[[]string]{config.Files, config.Archives} {
		if len(key.In(settings)) > 0 {
			t.console.Warn("%s has no effect on this machine: the program runs where its files are", key.Name())
		}
	}
	var environment []string
	for _, prefix := range []config.Prefix{config.AMEnv, config.ExecutorEnv} {
		for name, value := range prefix.In(settings) {
			environment = append(environment, name+"="+value)
		}
	}
	return environment
}

// replace replaces this process by a program (exec), so that the program receives the signals and
// determines the exit status. replace returns only if the exec fails. If t.waitForChild is set,
// replace instead runs the program as a child process, and returns when it has ended.
func replace(t terminal, program string, argv, environment []string) error {
	path, err := filepath.Abs(program)
	if err != nil {
		return client.UsageError(err)
	}
	t.console.Close()
	if t.waitForChild {
		return runChild(t, path, argv, environment)
	}
	err = syscall.Exec(path, argv, append(os.Environ(), environment...))
	return client.UsageError(fmt.Errorf("cannot run %s: %w", program, err))
}

// runChild runs a program as a child process, and forwards signals to it. If the program fails,
// runChild returns a *commandStatus.
func runChild(t terminal, path string, argv, environment []string) error {
	child := &exec.Cmd{Path: path, Args: argv, Env: append(os.Environ(), environment...), Stdin: os.Stdin, Stdout: t.stdout, Stderr: os.Stderr}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := child.Start(); err != nil {
		return client.UsageError(fmt.Errorf("cannot run %s: %w", path, err))
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for {
		select {
		case received := <-signals:
			_ = child.Process.Signal(received) // fails if the child has already ended
		case err := <-ended:
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() > 0 {
				return &commandStatus{status: exit.ExitCode(), err: fmt.Errorf("the job failed with exit status %d", exit.ExitCode())}
			}
			return err
		}
	}
}

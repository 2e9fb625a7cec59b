package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// localMaster is a master on this machine; the program itself checks what is in
// the brackets.
var localMaster = regexp.MustCompile(`^local(\[.*\])?$`)

// runsLocally tells whether the program is to run on this machine.
func runsLocally(settings *config.Config) (bool, error) {
	switch master := config.Master.In(settings); {
	case master == "" || master == "yarn" || isStandalone(settings) || isLocalCluster(settings):
		return false, nil
	case localMaster.MatchString(master):
		return true, nil
	default:
		return false, client.Usage(fmt.Errorf("master %q (from %s): want yarn, bobbin://HOST:PORT, local, local[N], local[N,F], local[*] or local-cluster[E,C,M]%s",
			master, settings.Source(config.Master.Name()), didYouMean(master, []string{"yarn", "local", "bobbin://"})))
	}
}

// runInPlace puts the program in this process's place, to run on this machine.
func runInPlace(t terminal, program string, argv []string, settings *config.Config) error {
	environment, err := localEnvironment(t, settings)
	if err != nil {
		return client.Usage(err)
	}
	return replace(t, program, argv, environment)
}

// replace puts a program in this process's place, so that its exit status,
// signals and output are its own. It returns only when that fails, or when this
// process stays: then at the program's end.
func replace(t terminal, program string, argv, environment []string) error {
	path, err := filepath.Abs(program)
	if err != nil {
		return client.Usage(err)
	}
	t.console.Close()
	if t.stays {
		return runBelow(t, path, argv, environment)
	}
	err = syscall.Exec(path, argv, append(os.Environ(), environment...))
	return client.Usage(fmt.Errorf("cannot run %s: %w", program, err))
}

// localEnvironment hands the settings to a program that runs on this machine,
// where driver and executors are one process.
func localEnvironment(t terminal, settings *config.Config) ([]string, error) {
	for _, key := range []config.Key[[]string]{config.Files, config.Archives} {
		if len(key.In(settings)) > 0 {
			t.console.Warn("%s has no effect on this machine: the program runs where its files are", key.Name())
		}
	}
	environment, err := handOver(settings.Map())
	if err != nil {
		return nil, err
	}
	for _, prefix := range []config.Prefix{config.AMEnv, config.ExecutorEnv} {
		for name, value := range prefix.In(settings) {
			environment = append(environment, name+"="+value)
		}
	}
	return environment, nil
}

// handOver returns the environment by which a program gets its settings from
// this process. It reads no others: neither BOBBIN_… variables nor a defaults
// file.
func handOver(properties map[string]string) ([]string, error) {
	encoded, err := json.Marshal(properties)
	return []string{launch.EnvProperties + "=" + string(encoded)}, err
}

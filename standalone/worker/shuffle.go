package worker

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/shuffle"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// The worker serves map outputs on the port of its web page, with the protocol of
// mapreduce_shuffle (package shufflehandler). It serves an executor's outputs from the
// executor's end until the application's end.

// offerShuffles makes the worker serve the map outputs of an executor's application. It adds
// the environment variables from which the executor learns the directory and the address.
func (w *worker) offerShuffles(order *protocol.LaunchExecutor, variables map[string]string) error {
	application, command := order.GetApplicationId(), order.GetCommand()
	variables[launch.EnvApplication] = application
	_, wanted := command.GetEnvironment()[launch.EnvShuffleService]
	if !wanted || config.ShuffleService.In(w.options.Settings) == config.ShuffleServiceOff {
		return nil
	}
	directory := w.directory.shuffleDirectory(application)
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return fmt.Errorf("make a directory for map outputs: %w", err)
	}
	w.shuffles.Add(shufflehandler.Application{
		ID: application, Password: shuffle.ServicePassword(command.GetPass()), Locals: []string{directory},
	})
	maps.Copy(variables, map[string]string{
		launch.EnvShuffleAddress: w.page.address(w.machine.host), launch.EnvShuffleDirectory: directory,
	})
	return nil
}

// shuffleDirectory returns the directory of an application's map outputs.
func (d *workDirectory) shuffleDirectory(application string) string {
	return filepath.Join(d.join(application), shuffleName)
}

// removeShuffles removes the map outputs of all applications.
func (d *workDirectory) removeShuffles() error {
	owners, err := d.owners()
	problems := []error{err}
	for _, owner := range owners {
		problems = append(problems, os.RemoveAll(d.shuffleDirectory(owner)))
	}
	return errors.Join(problems...)
}

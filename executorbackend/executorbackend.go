// Package executorbackend is the executor: it joins a driver, runs the tasks
// that the driver sends, reports what became of them and says at intervals that
// it lives. Run is an executor process of its own, Serve one inside the
// driver's process.
//
// An executor ends when the driver tells it to. A process whose connection
// breaks gives its tasks up and joins again, for a few seconds; one that cannot
// go on (a task in it does not end though it was killed, its disk is lost, a
// signal says so) asks the driver to let it leave, which takes no further tasks
// and lets those that run end first.
package executorbackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// Options describe an executor.
type Options struct {
	ID    string // as the cluster manager and the driver know it
	Host  string // the node as the cluster names it, which is how HDFS names it too
	Cores int    // how many tasks of one CPU run at once; at least 1
	// Profile is the id of the executor's resource profile, as the driver gave it
	// in its request to the cluster manager; 0 for the settings'.
	Profile int

	// LogURLs says where the executor's output can be read, by the stream's name.
	LogURLs map[string]string

	// Resources are the addresses of each further resource, by the name by which
	// tasks ask for it. Where they are nil, Run finds them out by itself.
	Resources map[string][]string

	// Shared is set where many executors are in this process: goroutines that
	// outlive their tasks are then not looked for, as each look goes through all
	// goroutines of the process, the disk, which they have in common, is not
	// tested by each of them, and none has a data port.
	Shared bool

	// Decommission gives the reason why the executor is to leave, where that is
	// known here first, by a signal for example: it then takes no further tasks,
	// finishes those that it runs, and ends with ExitDecommissioned. Nil gives none.
	Decommission <-chan string

	// Config is asked for executor.heartbeatInterval, network.timeout,
	// task.maxResultSize, task.maxDirectResultSize and task.reaper.killTimeout, and
	// by Run for the data port's; nil is the default configuration. Run takes the
	// driver's instead.
	Config *config.Config

	// Prepare makes the context under which tasks run from what the driver said,
	// and a function that ends what it made; Run calls it once before it
	// registers. Serve does not: its tasks run under the context it is given.
	Prepare func(ctx context.Context, boot *wire.BootstrapReply) (context.Context, func(), error)

	Logger *slog.Logger // nil logs nothing

	replaceable bool   // another executor comes when this one leaves
	directory   string // that must be writable; "" is the working directory
}

func (o Options) withDefaults() Options {
	o.Cores = max(o.Cores, 1)
	o.directory = cmp.Or(o.directory, ".")
	if o.Config == nil {
		o.Config = config.Default()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Exit codes of an executor process, beside 0 for one that was told to stop
// and 1 for any other error.
const (
	// ExitLostDisk is of an executor that cannot write to its container's working
	// directory. It is the code that Spark's executors use for it.
	ExitLostDisk = 53
	// ExitHeartbeatFailure is of an executor that could not send a heartbeat for
	// network.timeout. It is the code that Spark's executors use for it.
	ExitHeartbeatFailure = 56
	// ExitStuckTask is of an executor that left because a task in it did not end
	// though it was killed. It is the code that Spark's executors use for it.
	ExitStuckTask = 57
	// ExitUnableToConnect is of an executor that did not reach its driver.
	ExitUnableToConnect = 61
	// ExitDisconnected is of an executor whose stream to the driver broke: the
	// driver ended, or took the executor for lost.
	ExitDisconnected = 62
	// ExitRefused is of an executor that the driver does not want.
	ExitRefused = 63
	// ExitDecommissioned is of an executor that left by Options.Decommission. One
	// that left because the driver told it to ends with 0.
	ExitDecommissioned = 64
)

// ExitError says why an executor ended otherwise than by being told to.
type ExitError struct {
	Code int // one of the Exit constants
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// ExitCode is the code with which a process ends for what Run returned.
func ExitCode(err error) int {
	var exit *ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Code
	}
	return 1
}

func exitError(code int, format string, arguments ...any) error {
	return &ExitError{Code: code, Err: fmt.Errorf(format, arguments...)}
}

// Package executorbackend is an executor. It registers with a driver, runs the
// tasks that the driver sends, reports their results and sends heartbeats. [Run]
// is an executor process, [Serve] an executor inside the driver's process.
//
// The engine owns the tasks of one stream to the driver; its lock guards them.
// The goroutine that receives the driver's messages changes it ((*engine).take),
// and so does each task's goroutine when the task ends. Messages to the driver go
// through the outbox, whose lock is its own. Blocks of data belong to the
// executor type, which outlives a stream.
//
// If the connection breaks, an executor process gives up its tasks and tries to
// register again for a few seconds. If it cannot continue (a killed task does not
// end, its disk is lost, or it gets a signal), it asks the driver to decommission
// it: it gets no further task, and ends when its tasks have ended.
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
	ID    string // the same as in the cluster manager and the driver
	Host  string // the node's name in the cluster, which HDFS uses too
	Cores int    // at least 1
	// Profile is the id of the executor's resource profile, as in the driver's
	// request to the cluster manager; 0 is the profile of the settings.
	Profile int

	// LogURLs are where the executor's output can be read, by the output stream.
	LogURLs map[string]string

	// Resources are the addresses of each further resource, by the name that tasks
	// use. If nil, Run calls Discover.
	Resources map[string][]string

	// Shared is set if several executors share this process. They then have no
	// data port, do not test the disk, and do not look for leaked goroutines, which
	// would go through all goroutines of the process.
	Shared bool

	// Decommission delivers a reason to decommission the executor, a signal for
	// example. The executor then ends with ExitDecommissioned. May be nil.
	Decommission <-chan string

	// Config has the executor's settings; nil means their defaults. Run replaces it
	// with the driver's.
	Config *config.Config

	// Prepare makes the context of tasks from the driver's reply, and a function
	// that releases what it made. Run calls it once, before it registers; Serve
	// does not.
	Prepare func(ctx context.Context, boot *wire.BootstrapReply) (context.Context, func(), error)

	Logger *slog.Logger // nil logs nothing

	replaceable bool   // the driver gets another executor if this one ends
	directory   string // the container's working directory; "" is the process's
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

// Exit codes of an executor process, besides 0 if the driver stopped it and 1 for
// other errors. Those from 53 to 57 are Spark's.
const (
	// ExitLostDisk means that the executor cannot write to its working directory.
	ExitLostDisk = 53
	// ExitHeartbeatFailure means that the executor could not send a heartbeat for
	// network.timeout.
	ExitHeartbeatFailure = 56
	// ExitStuckTask means that a killed task did not end.
	ExitStuckTask = 57
	// ExitUnableToConnect means that the executor did not reach its driver.
	ExitUnableToConnect = 61
	// ExitDisconnected means that the stream to the driver broke, because the driver ended
	// or declared the executor lost.
	ExitDisconnected = 62
	// ExitRefused means that the driver refused the executor.
	ExitRefused = 63
	// ExitDecommissioned means that the executor was decommissioned by Options.Decommission.
	ExitDecommissioned = 64
)

// ExitError is an error with an exit code of its own.
type ExitError struct {
	Code int // one of the Exit constants
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// ExitCode returns the exit code of a process for which Run returned err.
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

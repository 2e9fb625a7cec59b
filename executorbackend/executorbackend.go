// Package executorbackend implements executors. An executor registers with a driver, runs the
// tasks that the driver sends, reports their results and sends heartbeats. [Run] runs an
// executor as a process, [Serve] runs an executor inside the driver's process.
//
// The type engine has the tasks of one stream to the driver, guarded by its lock. Mainly two
// kinds of goroutines change an engine: the goroutine that receives the driver's messages
// ((*engine).handleMessage), and the goroutine of each task when the task ends. Messages to the
// driver are sent by the type outbox, which has its own lock. The type executor has the state
// that survives the end of a stream, such as stored blocks.
//
// If the connection breaks, an executor process cancels its tasks and tries for a few seconds to
// register again. If it cannot continue (a killed task does not end, the disk cannot be written,
// or the process gets a signal), it requests that the driver decommissions it. The driver then
// launches no more tasks on it, and stops it when its tasks have ended.
package executorbackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// Options describe an executor.
type Options struct {
	ID    string // id by which the cluster manager and the driver identify the executor
	Host  string // name of the executor's node, spelled as in HDFS's block locations
	Cores int    // how many cores its tasks may use at once; at least 1
	// Profile is the id of the executor's resource profile; 0 is the default profile.
	Profile int

	// LogURLs are the URLs of the files with the executor's output, by file name, such as
	// stdout.
	LogURLs map[string]string

	// MemoryLimit is the memory limit of the container in bytes; 0 if there is no limit.
	MemoryLimit int64
	// HeapProfile is the file to which the executor writes a heap profile when its memory first
	// comes near the limit; "" means no file.
	HeapProfile string

	// Resources are the addresses of resources other than memory and cores, such as GPUs, by the
	// resource name that tasks request. If nil, Run calls Discover.
	Resources map[string][]string

	// SharesProcess is set if several executors share this process. They then have no data port,
	// do not test the disk, and do not search for leaked goroutines, because such a search
	// covers all goroutines of the process.
	SharesProcess bool

	// Decommission delivers a reason to decommission the executor, for example a signal to the
	// process. Run then returns an error with ExitDecommissioned. May be nil.
	Decommission <-chan string

	// Config contains the settings; nil means the defaults. Run replaces it with the driver's
	// settings.
	Config *config.Config

	// PrepareTasks returns the context from which the contexts of tasks derive, and a function
	// that releases the resources of that context. boot is the driver's reply to the executor's
	// first call. Run calls PrepareTasks once, before the executor registers; Serve does not
	// call it. May be nil.
	PrepareTasks func(ctx context.Context, boot *wire.BootstrapReply) (context.Context, func(), error)

	// Credentials is called with each new version of the delegation tokens that the
	// driver sends, encoded as a credentials file of Hadoop. May be nil.
	Credentials func(content []byte) error

	// ShuffleNodes configures the use of the shuffle services of nodes; nil if they are not
	// used. Its Timeout is ignored: executors use network.timeout.
	ShuffleNodes *shuffle.NodeOptions

	Logger *slog.Logger // nil logs nothing

	replaceable bool   // set by Run: the cluster manager can replace this executor
	directory   string // working directory of the container; "" means the process's working directory
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

// Exit codes of an executor process. The process also exits with 0 if the driver stopped it, and
// with 1 after other errors. The codes from 53 to 57 are the same as Spark's.
const (
	// ExitLostDisk means that the executor cannot write to its working directory.
	ExitLostDisk = 53
	// ExitHeartbeatFailure means that the send of a heartbeat blocked for network.timeout.
	ExitHeartbeatFailure = 56
	// ExitStuckTask means that a killed task did not end.
	ExitStuckTask = 57
	// ExitUnableToConnect means that the executor could not connect to its driver.
	ExitUnableToConnect = 61
	// ExitDisconnected means that the stream to the driver broke, because the driver ended or
	// considered the executor lost.
	ExitDisconnected = 62
	// ExitRefused means that the driver refused the executor.
	ExitRefused = 63
	// ExitDecommissioned means that Options.Decommission delivered a reason.
	ExitDecommissioned = 64
)

// ExitError is an error with an exit code for the process.
type ExitError struct {
	Code int // one of the Exit constants
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// ExitCode returns the exit code for a process in which Run returned err.
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

// Package executorbackend is an executor. It registers with a driver, runs the
// tasks that the driver sends, reports their results and sends heartbeats. [Run] is
// an executor process, [Serve] an executor inside the driver's process.
//
// The type engine has the tasks of one stream to the driver; its lock guards them. Mainly
// two kinds of goroutines change an engine: the one that receives the driver's messages
// ((*engine).handleMessage), and the goroutine of each task when the task ends. Messages
// to the driver go through the type outbox, which has its own lock. The type executor has
// the state that outlives a stream, such as stored blocks.
//
// If the connection breaks, an executor process gives up its tasks and tries to
// register again for a few seconds. If it cannot continue (a killed task does not
// end, it cannot write to its disk, or it gets a signal), it asks the driver to
// decommission it: it then gets no more tasks and ends when its tasks have ended.
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
	ID    string // id by which the cluster manager and the driver know the executor
	Host  string // name of the node that it runs on, as in HDFS's block locations
	Cores int    // how many cores its tasks may use at once; at least 1
	// Profile is the id of the executor's resource profile; 0 is the default profile.
	Profile int

	// LogURLs are the URLs of the executor's output, by its name, such as stdout.
	LogURLs map[string]string

	// MemoryLimit is the size of the container in bytes; 0 if nothing enforces one.
	MemoryLimit int64
	// HeapProfile is the file in which the executor keeps a heap profile if its memory comes
	// near the limit; "" for none.
	HeapProfile string

	// Resources are the addresses of resources other than memory and cores, such as GPUs,
	// by the name that tasks use. If nil, Run finds them with Discover.
	Resources map[string][]string

	// SharesProcess is set if several executors share this process. They then have no data
	// port, do not test the disk, and do not look for leaked goroutines, because
	// that search would cover all goroutines of the process.
	SharesProcess bool

	// Decommission delivers a reason to decommission the executor, for example that the
	// process got a signal. The process then ends with ExitDecommissioned. May be nil.
	Decommission <-chan string

	// Config has the settings; nil means the defaults. Run gets them from the driver.
	Config *config.Config

	// PrepareTasks makes the context under which tasks run, and returns it with a
	// function that releases the context's resources. boot is the driver's reply to
	// the executor's first call. Run calls PrepareTasks once, before it registers; Serve
	// does not. May be nil.
	PrepareTasks func(ctx context.Context, boot *wire.BootstrapReply) (context.Context, func(), error)

	// Credentials is called with each new version of the delegation tokens that the
	// driver sends, encoded as a credentials file of Hadoop. May be nil.
	Credentials func(content []byte) error

	// ShuffleNodes says how the shuffle services of nodes are used; nil if they are not.
	// Its Timeout is ignored: executors use network.timeout.
	ShuffleNodes *shuffle.NodeOptions

	Logger *slog.Logger // nil logs nothing

	replaceable bool   // set by Run: another executor can replace this one
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

// Exit codes of an executor process. In addition, it exits with 0 if the driver stopped it
// and with 1 after other errors. The codes from 53 to 57 are Spark's.
const (
	// ExitLostDisk means that the executor cannot write to its working directory.
	ExitLostDisk = 53
	// ExitHeartbeatFailure means that sending a heartbeat took network.timeout.
	ExitHeartbeatFailure = 56
	// ExitStuckTask means that a killed task did not end.
	ExitStuckTask = 57
	// ExitUnableToConnect means that the executor did not reach its driver.
	ExitUnableToConnect = 61
	// ExitDisconnected means that the stream to the driver broke, because the
	// driver ended or considered the executor lost.
	ExitDisconnected = 62
	// ExitRefused means that the driver refused the executor.
	ExitRefused = 63
	// ExitDecommissioned means a decommission through Options.Decommission.
	ExitDecommissioned = 64
)

// ExitError is an error that determines the exit code of the process.
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
